/** From a line of a file to its text and to the entry it holds; what does not fit is told to the report. */
import { findPayloadFault, parseEntryJson, type SessionEntry } from "@coppice/core";
import type { FileLine } from "./file-lines.ts";
import type { LineMigration } from "./line-migration.ts";
import type { ReportWriter } from "./session-file-report.ts";

/** A line that is not blank, as text. */
export interface TextLine {
  /** Counted from 1, blank lines included. */
  readonly line: number;
  /** The line's exact text without its line break. */
  readonly text: string;
  /** False for a last line that no line break follows. */
  readonly isTerminated: boolean;
}

/** One entry of a session file. */
export interface SessionFileEntry {
  /** The line it stands on, counted from 1, blank lines included. */
  readonly line: number;
  /** Its exact JSON text: the line without its break; of a migrated file the text in format 3. */
  readonly json: string;
  /** What the text says. */
  readonly entry: SessionEntry;
}

/** Stands for a header, never for an entry. */
export const SESSION_TYPE: string = "session";
/** White space of JSON; a line of nothing else is blank. */
const blankLine = /^[ \t\r]*$/;

/** The text of a line; undefined when the line is blank or too long. */
export function decodeLine(line: FileLine, maxLineBytes: number, notes: ReportWriter): TextLine | undefined {
  const { number, isTerminated } = line;
  notes.enterLine(line);
  if (line.hadByteOrderMark) {
    notes.report.hasByteOrderMark = true;
    notes.repair(number, "begins with a byte order mark, which was passed over");
  }
  if (line.byteLength > maxLineBytes) {
    notes.skip(number, `is ${line.byteLength} bytes long, expected at most ${maxLineBytes}`);
    return undefined;
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line.bytes);
  } catch {
    // A skipped entry would cut off all that continue it, so a damaged letter is the lesser loss.
    notes.repair(number, "holds bytes that are not UTF-8, which were replaced by U+FFFD");
    text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(line.bytes);
  }
  if (blankLine.test(text)) return undefined;
  if (text.includes("\r")) {
    // Raw, it can only stand between two fields; a space says the same and does not end a line anywhere.
    notes.repair(number, "holds a carriage return between fields, which became a space");
    text = text.replaceAll("\r", " ");
  }
  return { line: number, text, isTerminated };
}

/** The entry a line holds, or undefined. */
export function parseEntryLine(
  { line, text, isTerminated }: TextLine,
  migration: LineMigration | undefined,
  notes: ReportWriter,
): SessionFileEntry | undefined {
  const json = migration?.migrateLine(text) ?? text;
  const parsed = parseEntryJson(json);
  if (!parsed.ok) {
    const { field, message } = parsed.error;
    notes.skip(line, field === "" && !isTerminated ? "the file ends in the middle of the line" : message);
    return undefined;
  }
  if (parsed.value.type === SESSION_TYPE) {
    notes.skip(line, "type: expected an entry, found another session header");
    return undefined;
  }
  const fault = findPayloadFault(parsed.value);
  // Kept all the same: skipping it would cut off everything that continues it.
  if (fault !== undefined) notes.keepFaulty(line, fault.message);
  migration?.keepLine(parsed.value.id);
  notes.keepEntry();
  return { line, json, entry: parsed.value };
}
