import type { Connection } from "./connection.ts";

/** Payload after which a commit is closed and the rest waits for the next one. */
const maxCommitBytes = 16 * 1024 * 1024;

/** Something to be written durably. */
export interface QueuedWrite<Result> {
  readonly tables: readonly string[];
  /** Size of its payload. */
  readonly bytes: number;
  /** It reads before it writes or may refuse, so it has a transaction of its own. */
  readonly isAlone?: boolean;
  /** Makes its requests; at once, unless it is alone. Rejects with a `SessionError` to refuse. */
  stage(transaction: IDBTransaction): Promise<Result>;
  /** Runs when it is durable, just before its promise settles. */
  onCommitted?(result: Result): void;
}

interface QueuedEntry {
  readonly tables: readonly string[];
  readonly bytes: number;
  readonly isAlone: boolean;
  /** Settles with what is to be done once it is durable. */
  stage(transaction: IDBTransaction): Promise<() => void>;
  reject(error: unknown): void;
}

/**
 * Group commit on one database: what is queued in one turn, or while a commit is under way, shares the next transaction,
 * which is strict: complete means on the disk. A commit that fails rejects its writes and, where order matters, those
 * that wait behind it; what comes after starts afresh.
 */
export class CommitQueue {
  readonly #connection: Connection;
  readonly #keepsOrder: boolean;
  #waiting: QueuedEntry[] = [];
  #running: Promise<void> | undefined;

  /** `keepsOrder`: a write must not become durable without those before it. */
  constructor(connection: Connection, { keepsOrder }: { readonly keepsOrder: boolean }) {
    this.#connection = connection;
    this.#keepsOrder = keepsOrder;
  }

  /** Settles when the write is durable. Rejects with a `SessionError`; then nothing of it was written. */
  enqueue<Result>(write: QueuedWrite<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        tables: write.tables,
        bytes: write.bytes,
        isAlone: write.isAlone ?? false,
        stage: async (transaction) => {
          const result = await write.stage(transaction);
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

  /** Settles when nothing is queued or under way. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    // Only to the end of the turn: a tab may be closed any moment, and what the browser has been given is safe then.
    await undefined;
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      try {
        for (const settle of await this.#commit(batch)) settle();
      } catch (error) {
        const behind = this.#keepsOrder ? this.#waiting.splice(0) : [];
        for (const entry of [...batch, ...behind]) entry.reject(error);
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

  #commit(batch: readonly QueuedEntry[]): Promise<(() => void)[]> {
    const tables = [...new Set(batch.flatMap((entry) => entry.tables))];
    return this.#connection.transact({ tables, mode: "readwrite", durability: "strict" }, (transaction) => {
      const staged = Promise.all(batch.map((entry) => entry.stage(transaction)));
      // All is asked for: a browser that knows so commits although the page goes away before it hears of each request.
      if (!batch.some((entry) => entry.isAlone)) transaction.commit();
      return staged;
    });
  }
}
