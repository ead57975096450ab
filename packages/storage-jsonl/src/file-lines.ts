/**
 * Cuts bytes into the lines of a JSONL file, in memory bounded by the longest line allowed. Only `\n` and `\r\n` end a
 * line: U+2028, U+2029 and a lone `\r` may stand inside a JSON text, which is why `node:readline` is not used.
 */

/** The byte that ends a line. */
export const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** One line of a file, without its line break. */
export interface FileLine {
  /** Counted from 1; blank lines count, as in an editor. */
  readonly number: number;
  /** Position of the line's first byte in the file, in bytes. */
  readonly startOffset: number;
  /** Position after the line and its line break. */
  readonly endOffset: number;
  /** The line's bytes; empty when it is longer than allowed. Valid until the next line is asked for. */
  readonly bytes: Uint8Array;
  /** Length without line break and byte order mark, in bytes, also of a line that is too long. */
  readonly byteLength: number;
  /** False for a last line that no line break follows. */
  readonly isTerminated: boolean;
  /** True when the file's first line began with a byte order mark, which is cut off. */
  readonly hadByteOrderMark: boolean;
}

/** A place between two lines. */
export interface LinePosition {
  /** Number of the line that begins or goes on here, counted from 1. */
  readonly number: number;
  /** In bytes from the start of the file. */
  readonly offset: number;
}

/** Cuts a file into lines as its bytes come in. Lines above `maxLineBytes` are passed over without being collected. */
export class LineSplitter {
  readonly #maxLineBytes: number;
  #number: number;
  #startOffset: number;
  #pieces: Uint8Array[] = [];
  #byteLength = 0;

  constructor(maxLineBytes: number, start: LinePosition = { number: 1, offset: 0 }) {
    this.#maxLineBytes = maxLineBytes;
    this.#number = start.number;
    this.#startOffset = start.offset;
  }

  /** The lines that end in this chunk. Take them all before the chunk's memory is used again. */
  *push(chunk: Uint8Array): Generator<FileLine, void, void> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#add(chunk.subarray(start, end));
      yield this.#finish(true);
      start = end + 1;
    }
    // Copied, because the source may use the chunk's memory for the next one while this line is still open.
    this.#add(new Uint8Array(chunk.subarray(start)));
  }

  /** The last line, when the file does not end with a line break. */
  end(): FileLine | undefined {
    return this.#byteLength > 0 ? this.#finish(false) : undefined;
  }

  #add(piece: Uint8Array): void {
    this.#byteLength += piece.length;
    if (this.#byteLength > this.#maxLineBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  #finish(isTerminated: boolean): FileLine {
    let bytes = this.#byteLength > this.#maxLineBytes ? new Uint8Array() : joinPieces(this.#pieces);
    let byteLength = this.#byteLength;
    const hadByteOrderMark = this.#startOffset === 0 && BYTE_ORDER_MARK.equals(bytes.subarray(0, 3));
    if (hadByteOrderMark) {
      bytes = bytes.subarray(3);
      byteLength -= 3;
    }
    if (isTerminated && bytes[bytes.length - 1] === CARRIAGE_RETURN) {
      bytes = bytes.subarray(0, -1);
      byteLength -= 1;
    }
    const startOffset = this.#startOffset;
    const endOffset = startOffset + this.#byteLength + (isTerminated ? 1 : 0);
    const line = { number: this.#number, startOffset, endOffset, bytes, byteLength, isTerminated, hadByteOrderMark };
    this.#startOffset = endOffset;
    this.#number += 1;
    this.#pieces = [];
    this.#byteLength = 0;
    return line;
  }
}

/** The lines of a byte stream, in order. A file that ends with a line break has no empty last line. */
export async function* readFileLines(
  chunks: AsyncIterable<Uint8Array>,
  maxLineBytes: number,
): AsyncGenerator<FileLine, void, void> {
  const splitter = new LineSplitter(maxLineBytes);
  for await (const chunk of chunks) yield* splitter.push(chunk);
  const last = splitter.end();
  if (last !== undefined) yield last;
}

function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
}
