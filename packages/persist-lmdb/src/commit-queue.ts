import { setImmediate as nextTurn } from "node:timers/promises";
import { SessionError } from "@coppice/core";
import type { ChangeTracker } from "./change-tracker.ts";
import type { Environment } from "./environment.ts";
import { type LmdbTables, pageBytes, type Write } from "./lmdb-tables.ts";
import { StagedWrites } from "./staged-writes.ts";
import { describeCommitError } from "./storage-errors.ts";

/** Payload after which a commit is closed and the rest waits for the next one; bounds the memory of its pages. */
const maxCommitBytes = 16 * 1024 * 1024;

/** A commit that found another process's commit in its way this often takes the lock first. */
const maxOptimisticTries = 3;

/** Something to be written. */
export interface QueuedWrite<Result> {
  /** The log it belongs to; writes of one log are committed in the order they were queued, or not at all. */
  readonly log: string | undefined;
  /** Size of its payload. */
  readonly bytes: number;
  /** It reads stored updates, so it must not share a commit with others that may change them. */
  readonly isAlone: boolean;
  /** Adds its writes. May run several times, each time from the newest state; throws a SessionError to refuse. */
  stage(staged: StagedWrites): Result;
  /** Runs when it is durable, just before its promise settles. */
  onCommitted?(result: Result): void;
}

interface QueuedEntry {
  readonly log: string | undefined;
  readonly bytes: number;
  readonly isAlone: boolean;
  /** Returns what is to be done once the commit is durable. */
  stage(staged: StagedWrites): () => void;
  reject(error: unknown): void;
}

/**
 * Group commit: everything queued in one turn of the event loop, or while a commit is under way, shares the next one.
 * The fsync happens on lmdb's thread. A failed commit rejects its writes and those waiting behind it for the same
 * logs (a later update must not overtake one that has to be repeated); what comes after starts afresh.
 */
export class CommitQueue {
  readonly #environment: Environment;
  readonly #changes: ChangeTracker;
  #waiting: QueuedEntry[] = [];
  #running: Promise<void> | undefined;

  constructor(environment: Environment, changes: ChangeTracker) {
    this.#environment = environment;
    this.#changes = changes;
  }

  /** Settles when the write is durable. Rejects with what `stage` threw, `storage` or `storage_full`. */
  enqueue<Result>(write: QueuedWrite<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        log: write.log,
        bytes: write.bytes,
        isAlone: write.isAlone,
        stage: (staged) => {
          const result = write.stage(staged);
          return () => {
            write.onCommitted?.(result);
            resolve(result);
          };
        },
        reject,
      });
      this.#running ??= this.#run();
    });
  }

  /**
   * Has the environment opened anew if its files are no longer in their place, once no commit is under way. Rejects
   * with what is wrong.
   */
  async recheck(): Promise<void> {
    await this.enqueue({ log: undefined, bytes: 0, isAlone: false, stage: () => undefined });
  }

  /** Settles when nothing is queued or under way. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    await nextTurn();
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      try {
        await this.#commit(batch);
      } catch (cause) {
        await this.#fail(batch, cause);
      }
    }
    this.#running = undefined;
  }

  #takeBatch(): QueuedEntry[] {
    let bytes = 0;
    let count = 0;
    for (const entry of this.#waiting) {
      if (count > 0 && (entry.isAlone || bytes + entry.bytes > maxCommitBytes)) break;
      bytes += entry.bytes;
      count++;
      if (entry.isAlone) break;
    }
    return this.#waiting.splice(0, count);
  }

  /**
   * Positions are worked out from a revision of the store and committed only if it is still the same inside the write
   * transaction, so none is ever given twice. In a crowd of processes that may lose again and again against faster
   * ones; then the plan is made under the lock, which blocks this thread for one commit.
   */
  async #commit(batch: readonly QueuedEntry[]): Promise<void> {
    const tables = await this.#environment.acquire();
    for (let tries = 0; tries < maxOptimisticTries; tries++) {
      if (await this.#tryCommit(tables, batch)) return;
    }
    await this.#environment.prepareCommit(boundCommitBytes(batch));
    this.#commitLocked(tables, batch);
  }

  /** False when another process committed in between. */
  async #tryCommit(tables: LmdbTables, batch: readonly QueuedEntry[]): Promise<boolean> {
    tables.refresh();
    const revision = this.#changes.beginCommit(tables);
    let newRevision: number | undefined;
    try {
      // Behind the look at the revision: whoever takes this space with a commit of his own changes it.
      await this.#environment.prepareCommit(boundCommitBytes(batch));
      const { writes, settle } = planBatch(tables, batch);
      if (writes.length > 0) {
        if (!(await tables.commitIfUnchanged({ revision, writes }))) return false;
        newRevision = revision + 1;
        this.#environment.assertInPlace(); // durable, but where?
      }
      settle();
      return true;
    } finally {
      this.#changes.endCommit(newRevision);
    }
  }

  #commitLocked(tables: LmdbTables, batch: readonly QueuedEntry[]): void {
    let newRevision: number | undefined;
    try {
      const plan = tables.commitLocked(() => {
        const revision = this.#changes.beginCommit(tables);
        return { revision, ...planBatch(tables, batch) };
      });
      newRevision = plan.revision + 1;
      this.#environment.assertInPlace();
      plan.settle();
    } finally {
      this.#changes.endCommit(newRevision);
    }
  }

  async #fail(batch: readonly QueuedEntry[], cause: unknown): Promise<void> {
    const { folder } = this.#environment;
    const bytes = batch.reduce((sum, entry) => sum + entry.bytes, 0);
    const error = cause instanceof SessionError ? cause : await describeCommitError(folder, bytes, cause);
    // No space is found out before lmdb is asked; everything else may have left the environment unusable.
    if (!(cause instanceof SessionError && cause.code === "storage_full")) await this.#reopen();
    const logs = new Set(batch.map((entry) => entry.log));
    const isBehind = (entry: QueuedEntry): boolean => entry.log !== undefined && logs.has(entry.log);
    const behind = this.#waiting.filter(isBehind);
    this.#waiting = this.#waiting.filter((entry) => !isBehind(entry));
    for (const entry of [...batch, ...behind]) entry.reject(error);
  }

  async #reopen(): Promise<void> {
    try {
      await this.#environment.release();
      await this.#environment.acquire();
    } catch {
      // Not open then: whoever writes or reads next tries again and is told.
    }
  }
}

/** What a commit writes beside its payload: copies of the branches above it, the catalogue, the free list. */
const commitOverheadBytes = 256 * 1024;

/** The free list names 8 bytes per page freed, which for a log that is merged or deleted is all its pages. */
const aloneOverheadBytes = 1024 * 1024;

/** What a log costs a commit that writes to it, however little: pages of its updates and of its head, twice if they split. */
const perLogBytes = 4 * pageBytes;

/** Key, head and place in a page of one small write. */
const perWriteBytes = 256;

/** The most that a commit of these may write into new pages. */
function boundCommitBytes(batch: readonly QueuedEntry[]): number {
  let bytes = batch.some((entry) => entry.isAlone) ? aloneOverheadBytes : commitOverheadBytes;
  bytes += new Set(batch.map((entry) => entry.log)).size * perLogBytes;
  for (const entry of batch) {
    // A value above half a page gets pages of its own; smaller ones share them, half full at the worst.
    bytes += entry.bytes > pageBytes / 4 ? entry.bytes + 2 * pageBytes : 2 * (entry.bytes + perWriteBytes);
  }
  return bytes;
}

/** What to write, and what to do once it is durable: settle those that were written and reject those that refused. */
function planBatch(tables: LmdbTables, batch: readonly QueuedEntry[]): { writes: Write[]; settle: () => void } {
  const staged = new StagedWrites(tables);
  const outcomes = batch.map((entry) => {
    try {
      return entry.stage(staged);
    } catch (error) {
      if (!(error instanceof SessionError)) throw error;
      return () => entry.reject(error);
    }
  });
  const settle = (): void => {
    for (const outcome of outcomes) outcome();
  };
  return { writes: staged.list(), settle };
}
