import { SessionError } from "@coppice/core";
import type { FileLine, LinePosition } from "./file-lines.ts";

/** Lines listed one by one; beyond, they are only counted, so that a file of garbage stays within memory. */
const MAX_LISTED_LINES = 1000;

/** A line and what is the matter with it. */
export interface LineNote {
  /** Counted from 1, blank lines included. */
  readonly line: number;
  /** What was found and what was expected, to follow "line 7: ". */
  readonly reason: string;
}

/** What reading a session file met. Grows while entries are read; complete when the last one was. */
export interface SessionFileReport {
  /** Version the file is written in; 1 when its header names none. */
  readonly fileVersion: number;
  /** Lines read, the header and blank ones included. */
  readonly lines: number;
  /** Entries found. */
  readonly entries: number;
  /** Lines left out: the first 1,000; `skippedCount` counts all. */
  readonly skipped: readonly LineNote[];
  readonly skippedCount: number;
  /** Lines that were read, but not as they stand: the first 1,000. */
  readonly repaired: readonly LineNote[];
  /** Lines whose entry was kept although its payload is not what its type asks for: the first 1,000. */
  readonly faulty: readonly LineNote[];
  readonly faultyCount: number;
  /** The file begins with a byte order mark, which was passed over. */
  readonly hasByteOrderMark: boolean;
  /** A line break follows the last line read. */
  readonly hasFinalNewline: boolean;
}

/** Collects a report and how far the file has been read; refuses at the first fault when `strict`. */
export class ReportWriter {
  readonly report: { -readonly [Field in keyof SessionFileReport]: SessionFileReport[Field] } & {
    skipped: LineNote[];
    repaired: LineNote[];
    faulty: LineNote[];
  } = {
    fileVersion: 0,
    lines: 0,
    entries: 0,
    skipped: [],
    skippedCount: 0,
    repaired: [],
    faulty: [],
    faultyCount: 0,
    hasByteOrderMark: false,
    hasFinalNewline: true,
  };
  /** What messages call the file. */
  readonly name: string;
  /** What a strict refusal is called: the header decides about the session, a later line about an entry. */
  refusalCode: "invalid_session" | "invalid_entry" = "invalid_session";
  /** Whether the next fault is refused. */
  isStrict: boolean;
  /** Bytes read so far. */
  endOffset = 0;
  /** Where to go on when the file has grown: an unfinished line without an entry is read again from its start. */
  resumePosition: LinePosition = { number: 1, offset: 0 };

  constructor(name: string, isStrict: boolean) {
    this.name = name;
    this.isStrict = isStrict;
  }

  /** Notes that a line was read, before it is known what it holds. */
  enterLine({ number, startOffset, endOffset, isTerminated }: FileLine): void {
    this.report.lines = number;
    this.report.hasFinalNewline = isTerminated;
    this.endOffset = endOffset;
    this.resumePosition = isTerminated ? { number: number + 1, offset: endOffset } : { number, offset: startOffset };
  }

  /** Notes how far the file is known when its last line is not read because it is still unfinished. */
  enterRest(endOffset: number, hasFinalNewline: boolean): void {
    this.endOffset = endOffset;
    this.report.hasFinalNewline = hasFinalNewline;
  }

  /** Notes that the line held the header. */
  keepHeader(fileVersion: number): void {
    this.report.fileVersion = fileVersion;
    this.refusalCode = "invalid_entry";
    this.resumePosition = { number: this.resumePosition.number, offset: this.endOffset };
  }

  /** Notes that the line held an entry. */
  keepEntry(): void {
    this.report.entries += 1;
    this.resumePosition = { number: this.resumePosition.number, offset: this.endOffset };
  }

  /** Notes that a line is left out. */
  skip(line: number, reason: string): void {
    this.#refuseWhenStrict(line, reason);
    this.report.skippedCount += 1;
    if (this.report.skipped.length < MAX_LISTED_LINES) this.report.skipped.push({ line, reason });
  }

  /** Notes that a line is read otherwise than it stands. */
  repair(line: number, reason: string): void {
    this.#refuseWhenStrict(line, reason);
    if (this.report.repaired.length < MAX_LISTED_LINES) this.report.repaired.push({ line, reason });
  }

  /** Notes that an entry is kept although something is the matter with its payload. */
  keepFaulty(line: number, reason: string): void {
    this.#refuseWhenStrict(line, reason);
    this.report.faultyCount += 1;
    if (this.report.faulty.length < MAX_LISTED_LINES) this.report.faulty.push({ line, reason });
  }

  #refuseWhenStrict(line: number, reason: string): void {
    if (!this.isStrict) return;
    const advice = "repair the line, or read the file leniently to get the rest";
    throw new SessionError(this.refusalCode, `${this.name} line ${line}: ${reason}; ${advice}.`);
  }
}
