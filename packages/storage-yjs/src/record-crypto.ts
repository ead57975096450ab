import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { randomBytes } from "@noble/ciphers/utils.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { deflateSync, inflateSync } from "fflate";

/** Bytes of an XChaCha20-Poly1305 nonce. Long enough to be drawn at random for every sealed part. */
export const NONCE_BYTES = 24;

/** Bytes of a Poly1305 tag. */
export const TAG_BYTES = 16;

/**
 * The primitives beneath records and cursors, so that a native implementation can take the place of the pure one.
 * Results are fresh `Uint8Array`s of this realm (Yjs throws on any other), owned by the caller.
 */
export interface RecordCrypto {
  /** Unpredictable bytes. */
  randomBytes(length: number): Uint8Array;
  /** XChaCha20-Poly1305: ciphertext, then tag. A nonce must never be used twice with one key. */
  seal(key: Uint8Array, nonce: Uint8Array, plaintext: Uint8Array, associatedData: Uint8Array): Uint8Array;
  /** The plaintext of what `seal` made; undefined when any of the four differs. */
  open(key: Uint8Array, nonce: Uint8Array, sealed: Uint8Array, associatedData: Uint8Array): Uint8Array | undefined;
  /** Raw deflate (RFC 1951). Implementations may give different bytes for one input; each reads the other's. */
  deflate(bytes: Uint8Array, dictionary?: Uint8Array): Uint8Array;
  /**
   * The plain bytes of a raw deflate stream; undefined unless there are exactly `size` of them and nothing stands
   * behind the stream. Never takes memory for more than `size`.
   */
  inflate(bytes: Uint8Array, size: number, dictionary?: Uint8Array): Uint8Array | undefined;
  /** SHA-256: 32 bytes. */
  sha256(bytes: Uint8Array): Uint8Array;
}

/** The port filled with @noble/ciphers, @noble/hashes and fflate: runs everywhere, no native code. */
export const pureRecordCrypto: RecordCrypto = {
  randomBytes: (length) => randomBytes(length),
  sha256: (bytes) => sha256(bytes),
  seal: (key, nonce, plaintext, associatedData) => xchacha20poly1305(key, nonce, associatedData).encrypt(plaintext),
  open(key, nonce, sealed, associatedData) {
    if (sealed.length < TAG_BYTES) return undefined;
    try {
      return xchacha20poly1305(key, nonce, associatedData).decrypt(sealed);
    } catch {
      // Noble throws only when the tag does not fit: the lengths have been checked.
      return undefined;
    }
  },
  deflate(bytes, dictionary) {
    if (dictionary === undefined) return deflateSync(bytes);
    const deflated = deflateSync(bytes, { dictionary });
    // fflate 0.8.3 puts the dictionary itself into a first block that it stores as it is (block type 0). Without one it
    // does well, and a stream that refers to no dictionary may be read with any.
    const isFirstBlockStored = ((deflated[0] ?? 0) & 0b110) === 0;
    return isFirstBlockStored ? deflateSync(bytes) : deflated;
  },
  inflate(bytes, size, dictionary) {
    const inflated = inflateUpTo(bytes, size + 1, dictionary);
    if (inflated?.length !== size) return undefined;
    // fflate does not say where a stream ended. A whole one ends in the last byte, so that it is none without that.
    const isWholeWithoutLast = inflateUpTo(bytes.subarray(0, -1), size + 1, dictionary) !== undefined;
    return isWholeWithoutLast ? undefined : inflated;
  },
};

/** At most `limit` bytes; fflate drops the others without a word, so one byte more than wanted shows that there were some. */
function inflateUpTo(bytes: Uint8Array, limit: number, dictionary: Uint8Array | undefined): Uint8Array | undefined {
  const out = new Uint8Array(limit);
  try {
    return inflateSync(bytes, dictionary === undefined ? { out } : { out, dictionary });
  } catch {
    // Not a deflate stream, or cut short.
    return undefined;
  }
}
