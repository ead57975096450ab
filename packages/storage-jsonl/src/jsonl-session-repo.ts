import { rm } from "node:fs/promises";
import { join } from "node:path";
import {
  createUuidV7Source,
  type IdSource,
  readForkLines,
  Session,
  type SessionCreateOptions,
  SessionError,
  type SessionForkOptions,
  type SessionRepo,
} from "@coppice/core";
import { createHeaderJson, createSessionFile } from "./create-session-file.ts";
import { toFileError } from "./file-errors.ts";
import { type FoundSessionFiles, findSessionFiles, type RejectedPath } from "./find-session-files.ts";
import { headerToMetadata, type JsonlSessionMetadata, JsonlSessionStorage } from "./jsonl-session-storage.ts";
import { piFolderName, piSessionPath } from "./pi-session-files.ts";

/** Where a repository's files are, and where ids and times come from. */
export interface JsonlSessionRepoOptions {
  /** The folder above the folders of sessions; made when needed. pi's is `~/.pi/agent/sessions`. */
  readonly sessionsRoot: string;
  /** Makes session and entry ids; default UUIDv7. */
  readonly createId?: IdSource;
  /** Milliseconds since 1970; default the system clock. */
  readonly now?: () => number;
}

/** What a new session in a file may be given. */
export interface JsonlSessionCreateOptions extends SessionCreateOptions {
  /** The folder the agent works in; it names the folder of the file. */
  readonly cwd: string;
  /** The file the session comes from. A fork's default is its source. */
  readonly parentSessionPath?: string;
  /** A fork's default is its source's. */
  readonly metadata?: { [key: string]: unknown };
}

/** Which sessions are listed. */
export interface JsonlSessionListOptions {
  /** Only sessions of this folder. */
  readonly cwd?: string;
  /** Is told of every `.jsonl` file and folder that was passed over, and why. */
  readonly onRejected?: (rejected: RejectedPath) => void;
}

/** Ids that may be part of a file name, as pi has it. */
const fileNameId = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/** Sessions in files, in the folders and under the names in which pi keeps and finds them. Rules JL40-JL45. */
export class JsonlSessionRepo
  implements SessionRepo<JsonlSessionMetadata, JsonlSessionCreateOptions, JsonlSessionListOptions>
{
  readonly #sessionsRoot: string;
  readonly #createId: IdSource;
  readonly #now: () => number;

  constructor(options: JsonlSessionRepoOptions) {
    this.#sessionsRoot = options.sessionsRoot;
    this.#now = options.now ?? Date.now;
    this.#createId = options.createId ?? createUuidV7Source({ now: this.#now });
  }

  /** Makes a session; its file has a header at once. An id that cannot be part of a file name: `invalid_session`. */
  create(options: JsonlSessionCreateOptions): Promise<Session<JsonlSessionStorage>> {
    return this.#add(options, []);
  }

  /** Opens the session in `metadata.path`. */
  async open(metadata: Pick<JsonlSessionMetadata, "path">): Promise<Session<JsonlSessionStorage>> {
    const storage = await JsonlSessionStorage.open(metadata.path, { createId: this.#createId, now: this.#now });
    return new Session(storage, { now: this.#now });
  }

  /** Sessions by the headers of their files, newest first. A file that is no session is passed over. */
  async list(options: JsonlSessionListOptions = {}): Promise<JsonlSessionMetadata[]> {
    const { cwd, onRejected } = options;
    const { files, rejected } = await this.#find(cwd);
    if (onRejected !== undefined) for (const path of rejected) onRejected(path);
    const sessions = files.map(({ header, path }) => headerToMetadata(header, path));
    // Different folders may share a name: /a/b and /a-b do.
    const wanted = cwd === undefined ? sessions : sessions.filter((session) => session.cwd === cwd);
    return wanted.reverse().sort((one, other) => timeOf(other) - timeOf(one));
  }

  /** Removes the session's file; one that does not exist is fine. */
  async delete(metadata: Pick<JsonlSessionMetadata, "path">): Promise<void> {
    await rm(metadata.path, { force: true }).catch((error: unknown) => {
      throw toFileError(error, metadata.path);
    });
  }

  /** Makes a session from another file's entries, also from a file of an older format. */
  async fork(
    source: Pick<JsonlSessionMetadata, "path">,
    options: SessionForkOptions & JsonlSessionCreateOptions,
  ): Promise<Session<JsonlSessionStorage>> {
    const storage = await JsonlSessionStorage.open(source.path);
    try {
      const { metadata } = await storage.getMetadata();
      const defaults = { parentSessionPath: source.path, ...(metadata === undefined ? {} : { metadata }) };
      return await this.#add({ ...defaults, ...options }, await readForkLines(storage, options));
    } finally {
      await storage.close();
    }
  }

  async #add(options: JsonlSessionCreateOptions, lines: readonly string[]): Promise<Session<JsonlSessionStorage>> {
    const { id = this.#createId(), cwd } = options;
    if (!fileNameId.test(id)) {
      const advice = "use letters, digits, dots, dashes and underscores, with a letter or digit at both ends";
      throw new SessionError("invalid_session", `The session id ${JSON.stringify(id)} cannot name a file; ${advice}.`);
    }
    const createdAt = new Date(this.#now()).toISOString();
    const path = piSessionPath(this.#sessionsRoot, cwd, createdAt, id);
    await createSessionFile(path, createHeaderJson({ ...options, id, createdAt }), lines);
    return this.open({ path });
  }

  async #find(cwd: string | undefined): Promise<FoundSessionFiles> {
    const folder = cwd === undefined ? this.#sessionsRoot : this.#folderOf(cwd);
    try {
      return await findSessionFiles(folder, { maxDepth: cwd === undefined ? 1 : 0 });
    } catch (error) {
      // No session was made there yet.
      if (error instanceof SessionError && error.code === "not_found") return { files: [], rejected: [] };
      throw error;
    }
  }

  #folderOf(cwd: string): string {
    return join(this.#sessionsRoot, piFolderName(cwd));
  }
}

/** Sorts a time that cannot be read last. */
function timeOf({ createdAt }: JsonlSessionMetadata): number {
  const time = Date.parse(createdAt);
  return Number.isNaN(time) ? Number.NEGATIVE_INFINITY : time;
}
