import { createEncoder, type Encoder, toUint8Array, writeVarUint } from "lib0/encoding";
import type { ByteReader } from "./byte-reader.ts";

/**
 * How much of each client is held: the number of its structs, which is also the clock of the next one. A client that
 * is not listed has none.
 */
export type StateVector = ReadonlyMap<number, number>;

/** Encodes a state vector as Yjs does: count, then client and clock, greatest client first. */
export function encodeStateVector(vector: StateVector): Uint8Array {
  const encoder = createEncoder();
  writePairs(encoder, vector);
  return toUint8Array(encoder);
}

function writePairs(encoder: Encoder, vector: StateVector): void {
  writeVarUint(encoder, vector.size);
  const pairs = [...vector].sort(([left], [right]) => right - left);
  for (const [client, clock] of pairs) {
    writeVarUint(encoder, client);
    writeVarUint(encoder, clock);
  }
}

/** Reads a state vector; any order of clients, each at most once. Fails the reader otherwise. */
export function readStateVector(reader: ByteReader): StateVector {
  const vector = new Map<number, number>();
  const count = reader.readVarUint();
  for (let i = 0; i < count && !reader.failed; i += 1) {
    const client = reader.readVarUint();
    const clock = reader.readVarUint();
    if (vector.has(client)) reader.fail();
    vector.set(client, clock);
  }
  return vector;
}
