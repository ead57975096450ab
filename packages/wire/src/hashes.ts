import { encodeUtf8 } from "lib0/string";
import { encodeStateVector, type StateVector } from "./state-vector.ts";

/*
 * The three hashes of the protocol. SHA-256 comes from the caller (Node's own, @noble/hashes in a browser), so that this
 * package needs none.
 */

/** SHA-256 of the given bytes: 32 bytes. */
export type Sha256 = (bytes: Uint8Array) => Uint8Array;

const shortHashBytes = 8;
const roomIdBytes = 16;
const roomIdLabel = "coppice v1 room id\0";

/**
 * The check of an `ack` pair: a hash of all of a client's structs up to the last one, so that two holders with equal
 * checks hold the same records there behind the same origins. Made struct by struct: the first 8 bytes of SHA-256 of the
 * check of those before and the struct's bytes as the grammar writes them (`Struct.encoded`).
 *
 * @param before check of the structs before this one; null: it is the client's first
 */
export function extendCheck(before: Uint8Array | null, encoded: Uint8Array, sha256: Sha256): Uint8Array {
  const hashed = new Uint8Array(shortHashBytes + encoded.length);
  if (before !== null) hashed.set(before);
  hashed.set(encoded, shortHashBytes);
  return shorten(sha256(hashed));
}

/**
 * The content of a `digest` frame: the first 8 bytes of SHA-256 of the canonical state vector, which is the encoding of
 * `encodeStateVector` (greatest client first) without clients that have no struct. Equal for equal vectors, however
 * their holder came to them.
 */
export function digestStateVector(vector: StateVector, sha256: Sha256): Uint8Array {
  const held = new Map([...vector].filter(([, clock]) => clock > 0));
  return shorten(sha256(encodeStateVector(held)));
}

/**
 * The name of the room that a secret of 32 bytes owns: the first 16 bytes of SHA-256 of a label and the secret, in hex.
 * Whoever tells the secret can delete the room; the name alone does not give it away.
 */
export function deriveRoomId(secret: Uint8Array, sha256: Sha256): string {
  const label = encodeUtf8(roomIdLabel);
  const labelled = new Uint8Array(label.length + secret.length);
  labelled.set(label);
  labelled.set(secret, label.length);
  return [...sha256(labelled).subarray(0, roomIdBytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A plain copy: what a hash function gives may be a Buffer, whose `slice` keeps the whole alive. */
function shorten(hash: Uint8Array): Uint8Array {
  return new Uint8Array(hash.subarray(0, shortHashBytes));
}
