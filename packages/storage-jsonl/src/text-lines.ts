import type { FileLine } from "./file-lines.ts";
import type { ReportWriter } from "./session-file-report.ts";

/** A line of a file as text. */
export interface TextLine {
  /** Counted from 1, blank lines included. */
  readonly line: number;
  /** The line's exact text without its line break. */
  readonly text: string;
  /** False for a last line that no line break follows. */
  readonly isTerminated: boolean;
}

/** White space of JSON; a line of nothing else is blank. */
const blankLine = /^[ \t\r]*$/;

/** Yields the lines that are not blank, decoded; tells the report of those that are too long or badly encoded. */
export async function* readTextLines(
  lines: AsyncIterable<FileLine>,
  maxLineBytes: number,
  notes: ReportWriter,
): AsyncGenerator<TextLine, void, void> {
  const exactDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const lenientDecoder = new TextDecoder("utf-8", { ignoreBOM: true });
  for await (const line of lines) {
    const { number, isTerminated } = line;
    notes.report.lines = number;
    notes.report.hasFinalNewline = isTerminated;
    if (line.hadByteOrderMark) {
      notes.report.hasByteOrderMark = true;
      notes.repair(number, "begins with a byte order mark, which was passed over");
    }
    if (line.byteLength > maxLineBytes) {
      notes.skip(number, `is ${line.byteLength} bytes long, expected at most ${maxLineBytes}`);
      continue;
    }
    let text: string;
    try {
      text = exactDecoder.decode(line.bytes);
    } catch {
      // A skipped entry would cut off all that continue it, so a damaged letter is the lesser loss.
      notes.repair(number, "holds bytes that are not UTF-8, which were replaced by U+FFFD");
      text = lenientDecoder.decode(line.bytes);
    }
    if (!blankLine.test(text)) yield { line: number, text, isTerminated };
  }
}
