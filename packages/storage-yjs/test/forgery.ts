import * as decoding from "lib0/decoding";
import * as Y from "yjs";
import { openReplica, type Replica, recordsOf } from "./replica.ts";

/** version, flags, key id, dictionary id. */
export const PREFIX_BYTES = 7;

/** A record cut after its header: prefix and header part, and the payload part. */
export function cutRecord(record: Uint8Array): { head: Uint8Array; payload: Uint8Array } {
  const decoder = decoding.createDecoder(record);
  decoding.readUint8Array(decoder, PREFIX_BYTES);
  decoding.readVarUint8Array(decoder);
  return { head: record.slice(0, decoder.pos), payload: record.slice(decoder.pos) };
}

/** The record with one bit turned. */
export function flipBit(record: Uint8Array, at: number, bit: number = 0): Uint8Array {
  return record.map((byte, index) => (index === at ? byte ^ (1 << bit) : byte));
}

/** A replica of another device whose log is that of `source`, written by its one client, with one record replaced. */
export async function openTampered(
  source: Replica,
  index: number,
  change: (record: Uint8Array) => Uint8Array,
): Promise<Replica> {
  const doc = new Y.Doc();
  doc.clientID = source.doc.clientID;
  doc.getArray("entries").push(recordsOf(source).map((record, at) => (at === index ? change(record) : record)));
  return openReplica("device-b", { log: [Y.encodeStateAsUpdate(doc)] });
}

/** The update that somebody without a replica makes, on top of what he has been given. */
export function writeAs(clientId: number, known: Uint8Array | undefined, write: (doc: Y.Doc) => void): Uint8Array {
  const doc = new Y.Doc();
  doc.clientID = clientId;
  if (known !== undefined) Y.applyUpdate(doc, known);
  const before = Y.encodeStateVector(doc);
  write(doc);
  return Y.encodeStateAsUpdate(doc, before);
}
