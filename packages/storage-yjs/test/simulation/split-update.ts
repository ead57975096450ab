import * as Y from "yjs";

/**
 * One update in several, as a sender may cut it: the records of each client apart, and those of one client cut in two,
 * of which the later part comes alone. Together they give what the whole gives, in any order.
 */
export function splitUpdate(update: Uint8Array, pick: number): Uint8Array[] {
  const { from, to } = Y.parseUpdateMeta(update);
  const clients = [...to.keys()];
  const startAt = (clocks: Map<number, number>): Uint8Array => Y.diffUpdate(update, Y.encodeStateVector(clocks));
  const parts = clients.map((client) => startAt(new Map([...to].filter(([other]) => other !== client))));
  const cutClient = clients[pick % clients.length];
  if (cutClient === undefined) return [update];
  const [first, end] = [from.get(cutClient) ?? 0, to.get(cutClient) ?? 0];
  const middle = first + 1 + (pick % Math.max(1, end - first - 1));
  return middle < end ? [startAt(new Map(to).set(cutClient, middle)), ...parts] : parts;
}
