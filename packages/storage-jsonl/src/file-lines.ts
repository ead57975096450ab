/**
 * Cuts a stream of bytes into the lines of a JSONL file, in memory bounded by the longest line allowed.
 * Only `\n` and `\r\n` end a line: U+2028, U+2029 and a lone `\r` may stand inside a JSON text, which is why
 * `node:readline` is not used.
 */

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** One line of a file, without its line break. */
export interface FileLine {
  /** Counted from 1; blank lines count, as in an editor. */
  readonly number: number;
  /** Position of the line's first byte in the file (after a byte order mark), in bytes. */
  readonly offset: number;
  /** The line's bytes; empty when it is longer than allowed. Valid until the next line is asked for. */
  readonly bytes: Uint8Array;
  /** Length in bytes without the line break, also of a line that is too long. */
  readonly byteLength: number;
  /** False for a last line that no line break follows. */
  readonly isTerminated: boolean;
  /** True when the first line began with a byte order mark, which is cut off. */
  readonly hadByteOrderMark: boolean;
}

/**
 * Yields the lines of a byte stream in order. A file that ends with a line break has no empty last line; an empty
 * stream has no line. Lines above `maxLineBytes` are passed over without being collected.
 */
export async function* readFileLines(
  chunks: AsyncIterable<Uint8Array>,
  maxLineBytes: number,
): AsyncGenerator<FileLine, void, void> {
  const line = new LineCollector(maxLineBytes);
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      line.add(chunk.subarray(start, end));
      yield line.finish(true);
      start = end + 1;
    }
    // Copied, because the source may use the chunk's memory for the next one while this line is still open.
    line.add(new Uint8Array(chunk.subarray(start)));
  }
  if (line.byteLength > 0) yield line.finish(false);
}

class LineCollector {
  byteLength = 0;
  #pieces: Uint8Array[] = [];
  #number = 1;
  #offset = 0;
  readonly #maxLineBytes: number;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  add(piece: Uint8Array): void {
    this.byteLength += piece.length;
    if (this.byteLength > this.#maxLineBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  finish(isTerminated: boolean): FileLine {
    const isTooLong = this.byteLength > this.#maxLineBytes;
    let bytes: Uint8Array = isTooLong ? new Uint8Array() : joinPieces(this.#pieces);
    let offset = this.#offset;
    let byteLength = this.byteLength;
    const hadByteOrderMark = this.#number === 1 && BYTE_ORDER_MARK.equals(bytes.subarray(0, 3));
    if (hadByteOrderMark) {
      bytes = bytes.subarray(3);
      offset += 3;
      byteLength -= 3;
    }
    if (isTerminated && bytes[bytes.length - 1] === CARRIAGE_RETURN) {
      bytes = bytes.subarray(0, -1);
      byteLength -= 1;
    }
    const line = { number: this.#number, offset, bytes, byteLength, isTerminated, hadByteOrderMark };
    this.#offset += this.byteLength + 1;
    this.#number += 1;
    this.#pieces = [];
    this.byteLength = 0;
    return line;
  }
}

function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
}
