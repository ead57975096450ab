import type { Struct, StructId } from "@coppice/wire";
import * as Y from "yjs";

/** Number of records per Yjs client id: what somebody holds. */
export type ClockVector = ReadonlyMap<number, number>;

/** A record of a document, with what makes it the same as another one. */
export interface HeldRecord {
  /** Owned by the document. */
  readonly record: Uint8Array;
  readonly origin: StructId | null;
}

/** Number of records a document holds per client id. */
export function readHeldClocks(doc: Y.Doc): Map<number, number> {
  const clocks = new Map<number, number>();
  for (const client of doc.store.clients.keys()) clocks.set(client, Y.getState(doc.store, client));
  return clocks;
}

/** The record a document holds at a place; undefined where it holds none, or something that is no record. */
export function readHeldRecord(doc: Y.Doc, client: number, clock: number): HeldRecord | undefined {
  const structs = doc.store.clients.get(client);
  if (structs === undefined || clock < 0 || clock >= Y.getState(doc.store, client)) return undefined;
  const item = structs[Y.findIndexSS(structs, clock)];
  if (!(item instanceof Y.Item) || !(item.content instanceof Y.ContentBinary)) return undefined;
  return { record: item.content.content, origin: item.origin };
}

/** Whether a struct is the very record that is held: same bytes behind the same record. */
export function isSameRecord({ record, origin }: HeldRecord, struct: Struct): boolean {
  return isSameId(origin, struct.origin) && isSameBytes(record, struct.record);
}

function isSameId(left: StructId | null, right: StructId | null): boolean {
  if (left === null || right === null) return left === right;
  return left.client === right.client && left.clock === right.clock;
}

/** Whether two byte strings are equal. */
export function isSameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}
