import { NONCE_BYTES, type RecordCrypto } from "./record-crypto.ts";

/** Nonces drawn at a time: asking for random bytes costs the same for 24 as for some thousand. */
const NONCES_PER_DRAW = 64;

/** Random nonces, each handed out once. */
export class NoncePool {
  readonly #crypto: RecordCrypto;
  #bytes: Uint8Array = new Uint8Array(0);
  #used = 0;

  constructor(crypto: RecordCrypto) {
    this.#crypto = crypto;
  }

  /** A nonce that nobody else gets; a view of bytes that are not written to again. */
  take(): Uint8Array {
    if (this.#used === this.#bytes.length) {
      this.#bytes = this.#crypto.randomBytes(NONCES_PER_DRAW * NONCE_BYTES);
      this.#used = 0;
    }
    this.#used += NONCE_BYTES;
    return this.#bytes.subarray(this.#used - NONCE_BYTES, this.#used);
  }
}
