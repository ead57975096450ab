import { decodeUtf8 } from "lib0/string";

/**
 * Reads bytes from outside without ever throwing or looking past their end.
 *
 * lib0's decoder is not used for input: it builds views without checking the length (so a short frame would show
 * bytes of the pool behind it), throws, and takes several spellings of one number. Here the first read that does not
 * fit sets `failed`; from then on every read returns 0 or nothing, so a parser checks once per loop turn and at the
 * end instead of after each read.
 */
export class ByteReader {
  readonly bytes: Uint8Array;
  /** Offset of the next byte. */
  offset = 0;
  /** Set by the first read that did not fit; never cleared. */
  failed = false;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** Bytes not read yet. */
  get remaining(): number {
    return this.bytes.length - this.offset;
  }

  /** True when everything was read and everything fitted. */
  get isComplete(): boolean {
    return !this.failed && this.offset === this.bytes.length;
  }

  /** Marks the input as bad; returns 0 so that reads can end with it. */
  fail(): 0 {
    this.failed = true;
    return 0;
  }

  readByte(): number {
    if (this.failed) return 0;
    const byte = this.bytes[this.offset];
    if (byte === undefined) return this.fail();
    this.offset += 1;
    return byte;
  }

  /** A varuint (7 bits per byte, lowest first), in its shortest form and at most `Number.MAX_SAFE_INTEGER`. */
  readVarUint(): number {
    if (this.failed) return 0;
    const { bytes } = this;
    let value = 0;
    let factor = 1;
    for (let at = this.offset; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      value += (byte & 0x7f) * factor;
      if (value > Number.MAX_SAFE_INTEGER) return this.fail();
      if (byte < 0x80) {
        // A last byte of zero adds nothing: the same number has a shorter form, and only that one is accepted.
        if (byte === 0 && factor > 1) return this.fail();
        this.offset = at + 1;
        return value;
      }
      factor *= 128;
    }
    return this.fail();
  }

  /** A view of the next `length` bytes; empty when they are not there. */
  readBytes(length: number): Uint8Array {
    if (this.failed || length > this.remaining) {
      this.fail();
      return this.bytes.subarray(0, 0);
    }
    const start = this.offset;
    this.offset += length;
    return this.bytes.subarray(start, this.offset);
  }

  /** A varuint length, then a view of that many bytes. */
  readVarBytes(): Uint8Array {
    return this.readBytes(this.readVarUint());
  }

  /** A varuint length, then that many bytes of valid UTF-8. */
  readVarString(): string {
    const bytes = this.readVarBytes();
    if (this.failed) return "";
    try {
      return decodeUtf8(bytes);
    } catch {
      // lib0 decodes strictly: its only failure is invalid UTF-8, which is bad input like any other.
      this.fail();
      return "";
    }
  }
}
