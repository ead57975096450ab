import type { SessionHeader } from "@coppice/core";
import { decodeLine, parseEntryLine, type SessionFileEntry, type TextLine } from "./entry-lines.ts";
import { readFileBytes } from "./file-bytes.ts";
import { readFileLines } from "./file-lines.ts";
import { readHeaderLine } from "./header-line.ts";
import { CURRENT_FILE_VERSION, LineMigration } from "./line-migration.ts";
import { ReportWriter, type SessionFileReport } from "./session-file-report.ts";

/** Longest line read, in bytes, unless said otherwise: the largest frame of the wire; no larger entry can travel. */
export const DEFAULT_MAX_LINE_BYTES: number = 32 * 1024 * 1024;

/** How a session file is read. */
export interface ReadSessionFileOptions {
  /** Refuse what would be skipped, put right or kept with a faulty payload otherwise. Default false. */
  strict?: boolean;
  /** Longer lines are skipped without being collected, in bytes. Default 32 MiB. */
  maxLineBytes?: number;
  /** What messages call the input. Default: the path, or "the input". */
  name?: string;
}

/** A session file whose header has been read. Iterate it once, to the end or until `break`, or close it. */
export interface SessionFile extends AsyncIterable<SessionFileEntry> {
  /** What the header says, in format 3; fields Coppice does not know are only in `headerJson`. */
  readonly header: SessionHeader;
  /** The header's exact JSON text; of a migrated file the text in format 3. */
  readonly headerJson: string;
  /** The entries' exact texts alone, in place of iterating the file itself. */
  readonly lines: AsyncIterable<string>;
  /** What was met so far; grows while the entries are read. */
  readonly report: SessionFileReport;
  /** Releases the input when not all entries are read. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Opens a session file, or a stream of its bytes, and reads its header; the entries follow as the result is iterated,
 * with one line in memory at a time. Unless `strict`, what cannot be an entry is skipped, an entry whose payload is not
 * what its type asks for is kept, and both stand in the report.
 *
 * Rejects with `not_found` (no such file), `invalid_session` (a folder, an empty file, something else than a session),
 * `version_mismatch` (a newer format) or `storage`. Iterating may throw `storage`, and with `strict` `invalid_entry`,
 * which names line, field and what was expected. Rules JL1-JL14.
 */
export async function readSessionFile(
  source: string | AsyncIterable<Uint8Array>,
  options: ReadSessionFileOptions = {},
): Promise<SessionFile> {
  const name = options.name ?? (typeof source === "string" ? source : "the input");
  const notes = new ReportWriter(name, options.strict ?? false);
  const chunks = typeof source === "string" ? readFileBytes(source) : source;
  return openSessionFile(chunks, options.maxLineBytes ?? DEFAULT_MAX_LINE_BYTES, notes);
}

/** As `readSessionFile`, for a caller that goes on with the notes. */
export async function openSessionFile(
  chunks: AsyncIterable<Uint8Array>,
  maxLineBytes: number,
  notes: ReportWriter,
): Promise<SessionFile> {
  const lines = readTextLines(chunks, maxLineBytes, notes);
  try {
    const { header, headerJson, fileVersion } = await readHeaderLine(lines, notes);
    notes.keepHeader(fileVersion);
    const migration = fileVersion < CURRENT_FILE_VERSION ? new LineMigration(fileVersion, header.id) : undefined;
    const entries = readEntries(lines, migration, notes);
    return {
      header,
      headerJson,
      lines: toTexts(entries),
      report: notes.report,
      [Symbol.asyncIterator]: () => entries,
      close: async () => {
        await lines.return();
      },
    };
  } catch (error) {
    await lines.return();
    throw error;
  }
}

async function* readTextLines(
  chunks: AsyncIterable<Uint8Array>,
  maxLineBytes: number,
  notes: ReportWriter,
): AsyncGenerator<TextLine, void, void> {
  for await (const line of readFileLines(chunks, maxLineBytes)) {
    const text = decodeLine(line, maxLineBytes, notes);
    if (text !== undefined) yield text;
  }
}

async function* readEntries(
  lines: AsyncIterable<TextLine>,
  migration: LineMigration | undefined,
  notes: ReportWriter,
): AsyncGenerator<SessionFileEntry, void, void> {
  for await (const line of lines) {
    const entry = parseEntryLine(line, migration, notes);
    if (entry !== undefined) yield entry;
  }
}

async function* toTexts(entries: AsyncIterable<SessionFileEntry>): AsyncGenerator<string, void, void> {
  for await (const { json } of entries) yield json;
}
