import { type JsonFault, parseHeaderJson, SessionError, type SessionHeader } from "@coppice/core";
import type { TextLine } from "./entry-lines.ts";
import { CURRENT_FILE_VERSION } from "./line-migration.ts";
import type { ReportWriter } from "./session-file-report.ts";

/** Damaged lines before the header; more and the file is taken for something else. */
const MAX_LINES_BEFORE_HEADER = 16;

/** What stands for a header field that cannot be used; undefined leaves it out. The same on every device. */
const REPLACEMENTS: ReadonlyMap<string, string | undefined> = new Map([
  ["timestamp", "1970-01-01T00:00:00.000Z"],
  ["cwd", ""],
  ["parentSession", undefined],
  ["metadata", undefined],
]);

/** What the header of a session file says. */
export interface HeaderLine {
  /** In format 3. */
  readonly header: SessionHeader;
  /** The line's own text; where it had to be migrated or repaired, the text with that done. */
  readonly headerJson: string;
  /** The version the file is written in. */
  readonly fileVersion: number;
}

/**
 * Finds and reads the header of a session file: the first line that holds a JSON object. Without an id there is no
 * session (`invalid_session`), a newer format is never guessed at (`version_mismatch`); other faults are repaired and
 * noted, or refused when strict.
 */
export async function readHeaderLine(
  lines: AsyncGenerator<TextLine, void, void>,
  notes: ReportWriter,
): Promise<HeaderLine> {
  while (notes.report.skippedCount <= MAX_LINES_BEFORE_HEADER) {
    const next = await lines.next();
    if (next.done === true) break;
    const { line, text } = next.value;
    const parsed = parseHeaderJson(text);
    if (parsed.ok || parsed.error.field !== "") return parseHeader(line, text, notes);
    notes.skip(line, parsed.error.message);
  }
  if (notes.report.lines === 0) {
    const advice = "bring it back from another copy, or remove it";
    throw new SessionError("invalid_session", `${notes.name} is empty, so it holds no session; ${advice}.`);
  }
  throw noSession(notes, "no JSON object was found at its beginning");
}

function parseHeader(line: number, text: string, notes: ReportWriter): HeaderLine {
  const fields: Record<string, unknown> = JSON.parse(text);
  if (fields.kind === "header" && typeof fields.v === "number") throw newerFormat(notes, fields.v);
  let headerJson = text;
  let parsed = parseHeaderJson(headerJson);
  while (!parsed.ok && REPLACEMENTS.has(parsed.error.field)) {
    const { field, message }: JsonFault = parsed.error;
    const replacement = REPLACEMENTS.get(field);
    notes.repair(line, `${message}; ${replacement === undefined ? "left out" : `taken as "${replacement}"`}`);
    fields[field] = replacement;
    headerJson = JSON.stringify(fields);
    parsed = parseHeaderJson(headerJson);
  }
  if (!parsed.ok) throw noSession(notes, `line ${line} is no session header (${parsed.error.message})`);
  const fileVersion = parsed.value.version;
  if (fileVersion > CURRENT_FILE_VERSION) throw newerFormat(notes, fileVersion);
  if (fileVersion < CURRENT_FILE_VERSION) headerJson = JSON.stringify({ ...fields, version: CURRENT_FILE_VERSION });
  return { header: { ...parsed.value, version: CURRENT_FILE_VERSION }, headerJson, fileVersion };
}

function noSession(notes: ReportWriter, reason: string): SessionError {
  const advice = 'choose a file whose first line begins with {"type":"session", or bring that line back';
  return new SessionError("invalid_session", `${notes.name} is no session file: ${reason}; ${advice}.`);
}

function newerFormat(notes: ReportWriter, version: number): SessionError {
  const known = `this Coppice reads formats 1 to ${CURRENT_FILE_VERSION}`;
  const advice = "update Coppice, or have the program that wrote it export an older format";
  return new SessionError(
    "version_mismatch",
    `${notes.name} is written in session format ${version} and ${known}; ${advice}.`,
  );
}
