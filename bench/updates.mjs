/** What writers send to relays: updates of one document, each an append of so many bytes to its entries. */
import * as prng from "lib0/prng";
import * as Y from "yjs";

const seed = 20260102;

/** The updates of `count` appends by one device, in order; the same bytes at every call but for the client id. */
export function createUpdates(count, bytes) {
  const random = prng.create(seed);
  const doc = new Y.Doc();
  const updates = [];
  doc.on("update", (update) => updates.push(update));
  const entries = doc.getArray("entries");
  for (let at = 0; at < count; at++) entries.push([prng.uint8Array(random, bytes)]);
  return updates;
}
