import * as decoding from "lib0/decoding";

/** Foreign bytes that do not follow their format. Thrown by a `ByteReader`, caught where the format is read. */
export class MalformedBytes extends Error {}

/**
 * Reads lib0's encoding strictly: never past the end of the given array (lib0 reads on into the buffer beneath a
 * view), and no number written longer than it must be. Every method throws `MalformedBytes`.
 */
export class ByteReader {
  readonly #decoder: decoding.Decoder;

  constructor(bytes: Uint8Array) {
    this.#decoder = decoding.createDecoder(bytes);
  }

  /** Bytes not read yet. */
  get remaining(): number {
    return this.#decoder.arr.length - this.#decoder.pos;
  }

  readByte(): number {
    return this.readBytes(1)[0] ?? 0;
  }

  /** A view of the next bytes. */
  readBytes(length: number): Uint8Array {
    if (length > this.remaining) throw new MalformedBytes(`${length} bytes expected, ${this.remaining} left`);
    return decoding.readUint8Array(this.#decoder, length);
  }

  /** An unsigned integer up to 2^53 - 1. */
  readVarUint(): number {
    const start = this.#decoder.pos;
    let value: number;
    try {
      value = decoding.readVarUint(this.#decoder);
    } catch (cause) {
      throw new MalformedBytes("a number does not end", { cause });
    }
    const isLongerThanNeeded = this.#decoder.pos - start > 1 && this.#decoder.arr[this.#decoder.pos - 1] === 0;
    if (!Number.isSafeInteger(value) || isLongerThanNeeded) throw new MalformedBytes("a number is not minimal");
    return value;
  }
}
