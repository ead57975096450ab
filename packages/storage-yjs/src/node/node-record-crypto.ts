import { createCipheriv, createDecipheriv, hash, randomFillSync } from "node:crypto";
import { deflateRawSync, type InflateRaw, inflateRawSync, type ZlibOptions } from "node:zlib";
import { hchacha } from "@noble/ciphers/chacha.js";
import { NONCE_BYTES, type RecordCrypto, TAG_BYTES } from "../record-crypto.ts";

/*
 * Node has the ChaCha20-Poly1305 of RFC 8439 and not its extended-nonce form; that one is the same cipher under a key
 * that HChaCha20 makes of the key and the first 16 bytes of the nonce (draft-irtf-cfrg-xchacha). Subkeys are not kept:
 * deriving one takes a microsecond, and each belongs to one nonce.
 *
 * Whatever Node returns is copied out of its Buffers, which Yjs does not take for bytes.
 */

const CIPHER = "chacha20-poly1305";
/** Bytes at the nonce's start that go into the subkey; the rest goes into the cipher's own nonce. */
const SUBKEY_NONCE_BYTES = 16;
/** Inputs that, with the dictionary before them, fit into half of zlib's window. */
const SMALL_BYTES = 8 * 1024;
/** "expand 32-byte k", as every ChaCha state begins. */
const sigmaWords = Uint32Array.of(0x61707865, 0x3320646e, 0x79622d32, 0x6b206574);

/** The port filled with OpenSSL and zlib as Node has them: the same sealed bytes as the pure one, in a third of the time. */
export const nodeRecordCrypto: RecordCrypto = {
  randomBytes: (length) => randomFillSync(new Uint8Array(length)),
  sha256: (bytes) => new Uint8Array(hash("sha256", bytes, "buffer")),
  seal(key, nonce, plaintext, associatedData) {
    const cipher = createCipheriv(CIPHER, deriveSubkey(key, nonce), toCipherNonce(nonce), { authTagLength: TAG_BYTES });
    cipher.setAAD(associatedData, { plaintextLength: plaintext.length });
    const sealed = new Uint8Array(plaintext.length + TAG_BYTES);
    sealed.set(cipher.update(plaintext));
    cipher.final();
    sealed.set(cipher.getAuthTag(), plaintext.length);
    return sealed;
  },
  open(key, nonce, sealed, associatedData) {
    const length = sealed.length - TAG_BYTES;
    if (length < 0) return undefined;
    const decipher = createDecipheriv(CIPHER, deriveSubkey(key, nonce), toCipherNonce(nonce), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(associatedData, { plaintextLength: length });
    decipher.setAuthTag(sealed.subarray(length));
    const plaintext = new Uint8Array(decipher.update(sealed.subarray(0, length)));
    try {
      decipher.final();
    } catch {
      // Thrown only when the tag does not fit.
      return undefined;
    }
    return plaintext;
  },
  deflate: (bytes, dictionary) =>
    new Uint8Array(
      deflateRawSync(bytes, {
        ...(bytes.length <= SMALL_BYTES && smallStream(bytes.length)),
        ...(dictionary === undefined ? {} : { dictionary }),
      }),
    ),
  inflate(bytes, size, dictionary) {
    try {
      const { buffer, engine } = inflateWithEngine(bytes, {
        // Zero is not accepted; one byte too many is seen below.
        maxOutputLength: Math.max(size, 1),
        ...(dictionary === undefined ? {} : { dictionary }),
      });
      const isExact = buffer.length === size && engine.bytesWritten === bytes.length;
      return isExact ? new Uint8Array(buffer) : undefined;
    } catch {
      // Not a deflate stream, cut short, or longer than declared.
      return undefined;
    }
  },
};

/**
 * Options for a small input: the same bytes come out in half the time, because zlib clears smaller tables for the
 * stream and its output fits a buffer that is not much larger.
 */
function smallStream(byteLength: number): ZlibOptions {
  return { windowBits: 14, memLevel: 6, chunkSize: byteLength + 64 };
}

/** Inflates and gives the engine too, which alone knows how much of the input the stream took. */
function inflateWithEngine(
  bytes: Uint8Array,
  options: { maxOutputLength: number; dictionary?: Uint8Array },
): { buffer: Uint8Array; engine: InflateRaw } {
  // Node's types say nothing of what `info: true` changes in the result (Node documentation, zlib, `info`).
  return inflateRawSync(bytes, { ...options, info: true }) as unknown as { buffer: Uint8Array; engine: InflateRaw };
}

function deriveSubkey(key: Uint8Array, nonce: Uint8Array): Uint8Array {
  if (nonce.length !== NONCE_BYTES) throw new RangeError(`A nonce has ${NONCE_BYTES} bytes, not ${nonce.length}`);
  const words = new Uint32Array(8);
  hchacha(sigmaWords, readWords(key), readWords(nonce.subarray(0, SUBKEY_NONCE_BYTES)), words);
  const subkey = new Uint8Array(32);
  const view = new DataView(subkey.buffer);
  for (let index = 0; index < words.length; index++) view.setUint32(index * 4, words[index] ?? 0, true);
  return subkey;
}

/** Four zero bytes, then what is left of the long nonce. */
function toCipherNonce(nonce: Uint8Array): Uint8Array {
  const cipherNonce = new Uint8Array(12);
  cipherNonce.set(nonce.subarray(SUBKEY_NONCE_BYTES), 4);
  return cipherNonce;
}

function readWords(bytes: Uint8Array): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const words = new Uint32Array(bytes.length / 4);
  for (let index = 0; index < words.length; index++) words[index] = view.getUint32(index * 4, true);
  return words;
}
