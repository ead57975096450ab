import { stat } from "node:fs/promises";
import {
  type EntryRecord,
  entryToTreeNode,
  type IdSource,
  type SessionEntry,
  SessionError,
  type SessionHeader,
  type SessionMetadata,
  type TreeNode,
  TreeSessionStorage,
} from "@coppice/core";
import { AppendFile, type FileIdentity } from "./append-file.ts";
import { createHeaderJson, createSessionFile, type NewSession } from "./create-session-file.ts";
import { decodeLine, parseEntryLine, SESSION_TYPE } from "./entry-lines.ts";
import { readFileBytes } from "./file-bytes.ts";
import { toFileError } from "./file-errors.ts";
import { LineSplitter, NEWLINE } from "./file-lines.ts";
import { CURRENT_FILE_VERSION } from "./line-migration.ts";
import { DEFAULT_MAX_LINE_BYTES, openSessionFile, type SessionFile } from "./session-file.ts";
import { ReportWriter, type SessionFileReport } from "./session-file-report.ts";

/** Where a storage's ids and times come from. */
export interface JsonlSessionStorageOptions {
  /** Makes entry ids; default UUIDv7. */
  readonly createId?: IdSource;
  /** Milliseconds since 1970; default the system clock. */
  readonly now?: () => number;
}

/** How an existing session file is opened. */
export interface OpenJsonlSessionOptions extends JsonlSessionStorageOptions {
  /** Refuse a file with damaged lines (`invalid_session`, `invalid_entry`) instead of doing without them. */
  readonly strict?: boolean;
}

/** Identity of a session in a file. */
export interface JsonlSessionMetadata extends SessionMetadata {
  cwd: string;
  path: string;
}

interface JsonlNode extends TreeNode {
  readonly record: EntryRecord;
}

/**
 * A session in a JSONL file as pi writes it: an append is one line, durable (fdatasync) when it resolves; earlier
 * bytes never change. Lines of other processes are noticed at each append and by `refresh`; they come into the tree
 * where they stand in the file and do not move this storage's leaf. Files of format 1 and 2 can be read, not written.
 * When the disk does not confirm an append, it rejects although its line stands in the file and in the tree.
 * Rules JL20-JL31.
 */
export class JsonlSessionStorage extends TreeSessionStorage<JsonlNode> {
  readonly #file: AppendFile;
  readonly #notes: ReportWriter;
  readonly #metadata: JsonlSessionMetadata;
  readonly #headerJson: string;

  /** Use `open` or `create`. */
  private constructor(
    path: string,
    { header, headerJson }: SessionFile,
    identity: FileIdentity,
    notes: ReportWriter,
    options: JsonlSessionStorageOptions,
  ) {
    const metadata = headerToMetadata(header, path);
    super({ metadata, ...options });
    this.#metadata = metadata;
    this.#headerJson = headerJson;
    this.#file = new AppendFile(path, identity);
    this.#notes = notes;
  }

  /** Opens the session in a file; the leaf is the effect of its last line. Rejects as `readSessionFile` does. */
  static async open(path: string, options: OpenJsonlSessionOptions = {}): Promise<JsonlSessionStorage> {
    const { strict = false, ...storageOptions } = options;
    const identity = await stat(path).catch((error: unknown) => {
      throw toFileError(error, path);
    });
    const notes = new ReportWriter(path, strict);
    const file = await openSessionFile(readFileBytes(path), DEFAULT_MAX_LINE_BYTES, notes);
    const records: EntryRecord[] = [];
    for await (const { json, entry } of file) records.push({ json, entry });
    // What others append later is theirs; it must not make an append of ours fail.
    notes.isStrict = false;
    const storage = new JsonlSessionStorage(path, file, identity, notes, storageOptions);
    storage.#take(records, false);
    return storage;
  }

  /** Makes a file with a header, durably, and opens it. Rejects with `storage` when the file exists. */
  static async create(
    path: string,
    session: NewSession,
    options: JsonlSessionStorageOptions = {},
  ): Promise<JsonlSessionStorage> {
    await createSessionFile(path, createHeaderJson(session, options.now), []);
    return JsonlSessionStorage.open(path, options);
  }

  /** What was met while reading the file, lines that came later included. */
  get report(): SessionFileReport {
    return this.#notes.report;
  }

  override async getMetadata(): Promise<JsonlSessionMetadata> {
    return this.#metadata;
  }

  /** The header's exact text; of a file of format 1 or 2 the text in format 3. */
  getHeaderJson(): string {
    return this.#headerJson;
  }

  /** Takes in what other processes have appended since. Rejects with `storage` when the file is gone or shorter. */
  async refresh(): Promise<void> {
    this.#takeNewLines([]);
  }

  protected override async writeRecords(records: readonly EntryRecord[]): Promise<void> {
    this.#checkWritable(records);
    // What others have appended stands in the file before what is written now.
    this.#takeNewLines([]);
    const lineStart = this.#notes.report.hasFinalNewline ? "" : "\n";
    this.#file.append(`${lineStart}${records.map((record) => `${record.json}\n`).join("")}`);
    // Read back rather than assumed, so that the tree has the order of the file also when others wrote meanwhile.
    this.#takeNewLines(records);
    await this.#file.sync();
  }

  protected override readJson(node: JsonlNode): string {
    return node.record.json;
  }

  protected override readEntry(node: JsonlNode): SessionEntry {
    return node.record.entry;
  }

  protected override async release(): Promise<void> {
    this.#file.close();
  }

  /** Reads on in the file; lines with the texts of `own`, in their order, are ours, all others foreign. */
  #takeNewLines(own: readonly EntryRecord[]): void {
    const notes = this.#notes;
    const size = this.#file.size();
    if (size === notes.endOffset) return;
    if (size < notes.endOffset) {
      throw new SessionError(
        "storage",
        `${this.#metadata.path} became shorter since it was opened, so entries of it are gone; open the session again.`,
      );
    }
    const start = notes.resumePosition;
    const bytes = this.#file.read(start.offset, size);
    const runs: { isOwn: boolean; records: EntryRecord[] }[] = [];
    let ownCount = 0;
    for (const line of new LineSplitter(DEFAULT_MAX_LINE_BYTES, start).push(bytes)) {
      const text = decodeLine(line, DEFAULT_MAX_LINE_BYTES, notes);
      const found = text === undefined ? undefined : parseEntryLine(text, undefined, notes);
      if (found === undefined) continue;
      const isOwn = found.json === own[ownCount]?.json;
      if (isOwn) ownCount++;
      if (runs.at(-1)?.isOwn !== isOwn) runs.push({ isOwn, records: [] });
      runs.at(-1)?.records.push({ json: found.json, entry: found.entry });
    }
    notes.enterRest(start.offset + bytes.length, bytes.at(-1) === NEWLINE);
    for (const { isOwn, records } of runs) this.#take(records, !isOwn);
  }

  #take(records: readonly EntryRecord[], isForeign: boolean): void {
    this.show([{ nodes: records.map((record) => ({ ...entryToTreeNode(record.entry), record })) }], isForeign);
  }

  #checkWritable(records: readonly EntryRecord[]): void {
    const { path } = this.#metadata;
    const { fileVersion } = this.#notes.report;
    if (fileVersion < CURRENT_FILE_VERSION) {
      const advice = `fork it, which makes a copy in format ${CURRENT_FILE_VERSION}, and continue that`;
      throw new SessionError(
        "version_mismatch",
        `${path} is in session format ${fileVersion}, which can only be read; ${advice}.`,
      );
    }
    for (const { json, entry } of records) {
      const fault = findFileFault(json, entry);
      if (fault !== undefined) throw new SessionError("invalid_entry", `Entry ${entry.id} ${fault}`);
    }
  }
}

/** What would keep a text from coming back from a file as it is. */
function findFileFault(json: string, entry: SessionEntry): string | undefined {
  if (entry.type === SESSION_TYPE) return "has the type of a session header, which a file would take for one";
  // In Unicode mode only a half without its partner counts as a surrogate.
  if (/\p{Surrogate}/u.test(json)) return "holds half a surrogate pair, which no file can; write it as an escape";
  const byteLength = Buffer.byteLength(json);
  if (byteLength <= DEFAULT_MAX_LINE_BYTES) return undefined;
  return `is ${byteLength} bytes long, more than the ${DEFAULT_MAX_LINE_BYTES} that a line may have; put large data elsewhere`;
}

/** The identity that the header of a file gives. */
export function headerToMetadata(header: SessionHeader, path: string): JsonlSessionMetadata {
  const { id, timestamp, cwd, parentSession, metadata } = header;
  return {
    id,
    createdAt: timestamp,
    cwd,
    path,
    ...(parentSession === undefined ? {} : { parentSessionPath: parentSession }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}
