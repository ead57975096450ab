import * as Y from "yjs";

/** Number of records a document holds per client id. */
export function readHeldClocks(doc: Y.Doc): Map<number, number> {
  const clocks = new Map<number, number>();
  for (const client of doc.store.clients.keys()) clocks.set(client, Y.getState(doc.store, client));
  return clocks;
}
