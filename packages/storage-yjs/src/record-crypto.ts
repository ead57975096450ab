import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { randomBytes } from "@noble/ciphers/utils.js";
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
  /** Raw deflate. Implementations may give different bytes for one input. */
  deflate(bytes: Uint8Array, dictionary?: Uint8Array): Uint8Array;
  /** The plain bytes of a raw deflate stream; undefined unless there are exactly `size` of them. */
  inflate(bytes: Uint8Array, size: number, dictionary?: Uint8Array): Uint8Array | undefined;
}

/** The port filled with @noble/ciphers and fflate: runs everywhere, no native code. */
export const pureRecordCrypto: RecordCrypto = {
  randomBytes: (length) => randomBytes(length),
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
  deflate: (bytes, dictionary) => deflateSync(bytes, dictionary === undefined ? {} : { dictionary }),
  inflate(bytes, size, dictionary) {
    try {
      // fflate drops what does not fit without a word, so one spare byte shows a stream that is too long.
      const out = new Uint8Array(size + 1);
      const inflated = inflateSync(bytes, dictionary === undefined ? { out } : { out, dictionary });
      return inflated.length === size ? inflated : undefined;
    } catch {
      // Any throw means that this is not a deflate stream.
      return undefined;
    }
  },
};
