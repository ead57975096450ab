import type { Slices } from "@coppice/core";
import * as Y from "yjs";

/**
 * Updates as one that holds the same records, those that wait for predecessors included; undefined when that cannot be
 * shown: two of them differ in a record, or there is something else in them than records. A slice at a time.
 */
export async function mergeVerified(updates: readonly Uint8Array[], slices: Slices): Promise<Uint8Array | undefined> {
  const expected = new Map<string, Uint8Array>();
  for (const update of updates) {
    if (!addRecords(update, expected)) return undefined;
    if (slices.isOver) await slices.next();
  }
  const merged = Y.mergeUpdates([...updates]);
  await slices.next();
  const found = new Map<string, Uint8Array>();
  if (!addRecords(merged, found) || found.size !== expected.size) return undefined;
  for (const [place, bytes] of expected) {
    const other = found.get(place);
    if (other === undefined || !areEqual(other, bytes)) return undefined;
  }
  return merged;
}

/** False when the update holds anything but records, or another record at a known place. */
function addRecords(update: Uint8Array, recordsByPlace: Map<string, Uint8Array>): boolean {
  const { structs, ds } = Y.decodeUpdate(update);
  if (ds.clients.size > 0) return false;
  for (const struct of structs) {
    // Stands where structs are missing: it says nothing of its own.
    if (struct instanceof Y.Skip) continue;
    if (!(struct instanceof Y.Item) || !(struct.content instanceof Y.ContentBinary)) return false;
    const place = `${struct.id.client} ${struct.id.clock}`;
    const known = recordsByPlace.get(place);
    if (known !== undefined && !areEqual(known, struct.content.content)) return false;
    recordsByPlace.set(place, struct.content.content);
  }
  return true;
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}
