import type { SharedSession, Workspace } from "@coppice/client";
import { LineMatcher, SessionError, TaskQueue } from "@coppice/core";
import type { LookAnswer, MirrorAnswer, MirrorBegin, MirrorLook } from "./protocol.ts";
import { SessionFileTail, type TailEntry } from "./session-file-tail.ts";

/** What a mirrored session needs. */
export interface MirroredSessionOptions {
  readonly workspace: Workspace;
  readonly begin: MirrorBegin;
  /** Hints of the folder, when it is in a repository. */
  readonly git: { readonly gitRemote?: string; readonly gitCommit?: string };
  /** Called between two lines of a first import: it waits as long as pi needs the machine for itself. */
  readonly rest: () => Promise<void>;
  /** Entries of a first import that are through. */
  readonly onProgress: (entries: number) => void;
  /** Lines that have stood in the file for `foreignGraceMs` and that neither pi's memory nor the workspace has. */
  readonly onUnknownLines: (ids: readonly string[]) => void;
  /** Reading or writing in the background has failed. */
  readonly onError: (error: unknown) => void;
  /** Default 2,000. */
  readonly foreignGraceMs?: number;
}

const defaultForeignGraceMs = 2_000;
/** How often the file is looked at for lines of others, in ms. */
const fileCheckMs = 500;

/**
 * One session of pi in the workspace: takes in what pi has written to its file, and stands where pi stands.
 *
 * An entry is taken from the file once pi's memory has it, so that another process's lines are told apart from pi's own;
 * what the workspace knows already, by its id, is not written again. Everything runs in one queue, in order.
 */
export class MirroredSession {
  readonly session: SharedSession;
  readonly #options: MirroredSessionOptions;
  readonly #tail: SessionFileTail;
  readonly #queue = new TaskQueue();
  /** pi gives a file of an old format new ids; entries that were imported before have others. */
  readonly #matcher: LineMatcher;
  /** Ids of pi's memory. */
  readonly #piIds: Set<string>;
  /** What the workspace cannot take, by id: it is not tried again and again. */
  readonly #refusedIds = new Set<string>();
  /** Ids of pi's memory that are not known to be in the workspace, in order. */
  #unstoredIds: string[];
  /** Lines that are neither in the workspace nor in pi's memory, in file order, and when they were first seen. */
  readonly #unknown = new Map<string, { readonly json: string; readonly seenMs: number; isTold: boolean }>();
  readonly #checkTimer: ReturnType<typeof setInterval>;
  #isClosed = false;

  private constructor(options: MirroredSessionOptions, session: SharedSession, tail: SessionFileTail) {
    this.#options = options;
    this.session = session;
    this.#tail = tail;
    this.#matcher = new LineMatcher(session.storage);
    this.#piIds = new Set(options.begin.ids);
    this.#unstoredIds = [...options.begin.ids];
    this.#checkTimer = setInterval(() => this.#checkFile(), fileCheckMs);
  }

  /**
   * Opens the session, makes and lists it when the workspace does not have it, takes in what it lacks, and decides where
   * to stand. Rejects `not_found` while there is no file, and as `Workspace.importSession`.
   */
  static async open(options: MirroredSessionOptions): Promise<{ mirrored: MirroredSession; answer: MirrorAnswer }> {
    const { workspace, begin } = options;
    const tail = new SessionFileTail(begin.file);
    const session = await openKnown(workspace, begin.sessionId);
    if (session === undefined) {
      const imported = await importFile(options, tail);
      // Where to stand is told by the first look: the file may be ahead of what was asked for.
      const mirrored = new MirroredSession(options, imported.session, tail);
      // Some of it was here under other ids, which are found by another reading.
      if (begin.ids.some((id) => !mirrored.#isStored(id))) tail.rewind();
      await describeFolder(options);
      return { mirrored, answer: { written: imported.written } };
    }
    const mirrored = new MirroredSession(options, session, tail);
    const answer = await mirrored.#begin();
    await describeFolder(options);
    return { mirrored, answer };
  }

  /** pi has appended or moved. Settles when what the file has of it is on this disk and the place is taken. */
  look({ newIds, leafId }: Omit<MirrorLook, "sessionId">): Promise<LookAnswer> {
    return this.#queue.run(async () => {
      for (const id of newIds) this.#piIds.add(id);
      this.#unstoredIds.push(...newIds);
      await this.#readFile();
      await this.#standAt(leafId);
      this.#unstoredIds = this.#unstoredIds.filter((id) => !this.#isSettled(id));
      return { missingIds: this.#unstoredIds };
    });
  }

  /** Takes exact texts that the file lacks. */
  give(lines: readonly TailEntry[]): Promise<void> {
    return this.#queue.run(async () => {
      await this.#append(lines.filter(({ id }) => !this.#isStored(id)));
    });
  }

  /** Takes lines of another process, as far as nobody has stored them. Returns how many those were. */
  takeForeign(ids: readonly string[]): Promise<number> {
    return this.#queue.run(async () => {
      const leafId = await this.session.storage.getLeafId();
      const lines: TailEntry[] = [];
      for (const id of ids) {
        const line = this.#unknown.get(id);
        this.#unknown.delete(id);
        if (line !== undefined && !this.#isStored(id)) lines.push({ id, json: line.json });
      }
      await this.#append(lines);
      if ((await this.session.storage.getLeafId()) !== leafId) await this.session.session.moveTo(leafId);
      return lines.length;
    });
  }

  /** Settles when everything that was asked for is done, and what the file has of pi's own is on this disk. */
  flush(): Promise<void> {
    return this.#queue.run(async () => {
      await this.#readFile();
    });
  }

  /** Ends; the session is closed. Safe to call twice. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#checkTimer);
    await this.#queue.idle();
    await this.session.close();
  }

  /** The first look at a session that the workspace has. */
  async #begin(): Promise<MirrorAnswer> {
    const { begin } = this.#options;
    const { storage } = this.session;
    const ownLeafId = await storage.getLeafId();
    const written = await this.#readFile();
    const ahead = this.#describeAhead();
    // What this device did last is in the file: that is where it stands. Otherwise it had moved since.
    const piLeafId = ownLeafId === null ? null : this.#matcher.lineId(ownLeafId);
    const hasMoved = written === 0 && piLeafId !== begin.leafId && (piLeafId === null || this.#piIds.has(piLeafId));
    return { written, ...(hasMoved ? { ownLeafId: piLeafId } : {}), ...(ahead === undefined ? {} : { ahead }) };
  }

  #describeAhead(): MirrorAnswer["ahead"] {
    const plan = this.session.planResume("fast-forward");
    if (plan.kind !== "fast-forward") return undefined;
    const names = this.#options.workspace.deviceNames();
    return { entries: plan.entries, deviceNames: plan.deviceIds.map((id) => names.get(id) ?? id) };
  }

  /** Takes in what pi has written; returns how many entries that were. */
  async #readFile(): Promise<number> {
    const seenMs = performance.now();
    const takeOwn = async function* (this: MirroredSession): AsyncGenerator<TailEntry> {
      // Before what is new: it stands further up in the file.
      for (const [id, { json }] of this.#unknown) {
        if (!this.#piIds.has(id) && !this.#isSettled(id)) continue;
        this.#unknown.delete(id);
        if (!this.#isSettled(id)) yield { id, json };
      }
      for await (const { id, json } of this.#tail.readNew()) {
        if (this.#isSettled(id)) continue;
        if (this.#piIds.has(id)) yield { id, json };
        else if (!this.#unknown.has(id)) this.#unknown.set(id, { json, seenMs, isTold: false });
      }
    };
    try {
      return await this.#append(takeOwn.call(this));
    } catch (error) {
      // What was read and not written must come again.
      this.#tail.rewind();
      throw error;
    }
  }

  /** Appends texts; one that cannot travel is told of and must not keep the others here. */
  async #append(lines: Iterable<TailEntry> | AsyncIterable<TailEntry>): Promise<number> {
    const ids: string[] = [];
    const matcher = this.#matcher;
    const takeTexts = async function* (): AsyncGenerator<string> {
      for await (const { id, json } of lines) {
        const text = await matcher.match(json);
        // It is here, under the id with which it came first.
        if (matcher.storedId(id) !== id) continue;
        ids.push(id);
        yield text;
      }
    };
    const { written } = await this.session.storage.appendBatch(takeTexts(), {
      onRefused: ({ line, reason }) => {
        this.#refusedIds.add(ids[line - 1] ?? "");
        this.#options.onError(new SessionError("invalid_entry", `an entry cannot be shared: ${reason}`));
      },
    });
    return written;
  }

  /** Stands where pi stands, once that entry is here. */
  async #standAt(leafId: string | null): Promise<void> {
    if (leafId !== null && !this.#isStored(leafId)) return;
    const storedId = leafId === null ? null : this.#matcher.storedId(leafId);
    if ((await this.session.storage.getLeafId()) !== storedId) await this.session.session.moveTo(storedId);
  }

  #isStored(id: string): boolean {
    return this.session.getAuthor(this.#matcher.storedId(id)) !== undefined;
  }

  /** Whether there is nothing to do for it any more. */
  #isSettled(id: string): boolean {
    return this.#isStored(id) || this.#refusedIds.has(id);
  }

  #checkFile(): void {
    const { foreignGraceMs = defaultForeignGraceMs, onUnknownLines, onError } = this.#options;
    this.#queue
      .run(async () => {
        if (this.#isClosed) return;
        await this.#readFile();
        const ids: string[] = [];
        for (const [id, line] of this.#unknown) {
          if (line.isTold || performance.now() - line.seenMs < foreignGraceMs) continue;
          line.isTold = true;
          ids.push(id);
        }
        if (ids.length > 0) onUnknownLines(ids);
      })
      .catch(onError);
  }
}

/** The session when the workspace lists it and this device has all of it. */
async function openKnown(workspace: Workspace, sessionId: string): Promise<SharedSession | undefined> {
  const isListed = workspace.listSessions().some(({ id }) => id === sessionId);
  if (!isListed) return undefined;
  const session = await workspace.openSession(sessionId);
  return session.hasBeenFetched ? session : undefined;
}

async function importFile(
  { workspace, begin, onProgress, rest }: MirroredSessionOptions,
  tail: SessionFileTail,
): Promise<{ session: SharedSession; written: number }> {
  const entries = tail.readNew();
  const first = await entries.next();
  const { headerJson } = tail;
  if (headerJson === undefined) throw new SessionError("not_found", `There is no session in ${begin.file} yet.`);
  const lines = async function* (): AsyncGenerator<string> {
    if (!first.done) yield first.value.json;
    for await (const { json } of entries) {
      await rest();
      yield json;
    }
  };
  const { session, written } = await workspace.importSession(
    { headerJson, lines: lines() },
    { onProgress: (progress) => onProgress(progress.lines) },
  );
  if (session.id !== begin.sessionId) {
    await session.close();
    throw new SessionError(
      "invalid_session",
      `The file ${begin.file} holds session ${session.id}, not ${begin.sessionId}.`,
    );
  }
  return { session, written };
}

/** What the folder has to do with the session: said when it is news. */
async function describeFolder({ workspace, begin, git }: MirroredSessionOptions): Promise<void> {
  const listed = workspace.listSessions().find(({ id }) => id === begin.sessionId);
  if (listed === undefined) return;
  const { gitRemote, gitCommit } = git;
  const hasNews =
    (gitRemote !== undefined && gitRemote !== listed.gitRemote) ||
    (gitCommit !== undefined && gitCommit !== listed.gitCommit);
  if (hasNews) await workspace.setHints(begin.sessionId, git);
  if (listed.cwd !== begin.cwd) await workspace.setLocals(begin.sessionId, { cwd: begin.cwd });
}
