import { ChangeTracker, type ChangeTrackerOptions } from "./change-tracker.ts";
import { CommitQueue } from "./commit-queue.ts";
import type { Environment } from "./environment.ts";
import type { LmdbTables } from "./lmdb-tables.ts";
import { SharedLog } from "./shared-log.ts";
import { describeReadError } from "./storage-errors.ts";

/** What a store and the handles of its logs work with. */
export class StoreCore {
  readonly environment: Environment;
  readonly changes: ChangeTracker;
  readonly queue: CommitQueue;
  readonly #logs = new Map<string, SharedLog>();
  readonly #changeListeners = new Set<() => void>();

  constructor(environment: Environment, options: Omit<ChangeTrackerOptions, "onForeign">) {
    this.environment = environment;
    this.changes = new ChangeTracker(environment, { ...options, onForeign: (tables) => this.#takeForeign(tables) });
    this.queue = new CommitQueue(environment, this.changes);
  }

  /** Reads from the newest committed state. Rejects with `storage` or `closed`. */
  async read<Value>(read: (tables: LmdbTables) => Value): Promise<Value> {
    const tables = await this.#acquireInPlace();
    try {
      tables.refresh();
      return read(tables);
    } catch (error) {
      throw describeReadError(this.environment.folder, error);
    }
  }

  /** Tables that are open at this moment, and those of the file in the folder: what is deleted must not be served. */
  async #acquireInPlace(): Promise<LmdbTables> {
    for (;;) {
      const tables = await this.environment.acquire();
      if (tables !== this.environment.tables) continue; // released before it was our turn
      if (this.environment.isInPlace) return tables;
      await this.queue.recheck();
    }
  }

  /** The state shared by all handles of the log; one handle more counts as open. */
  async openSharedLog(name: string): Promise<SharedLog> {
    const head = await this.read((tables) => tables.readHead(name));
    let log = this.#logs.get(name);
    if (log === undefined) {
      log = new SharedLog(name, head);
      this.#logs.set(name, log);
    }
    log.openHandle();
    return log;
  }

  /** The state of an open log; undefined when no handle is open. */
  findSharedLog(name: string): SharedLog | undefined {
    return this.#logs.get(name);
  }

  closeSharedLog(log: SharedLog, handle: object): void {
    log.closeHandle(handle);
    if (!log.isOpen) this.#logs.delete(log.name);
  }

  /** Calls the listener after others changed anything in the store. Returns the function that stops it. */
  onForeignChange(listener: () => void): () => void {
    const registration = (): void => listener();
    this.#changeListeners.add(registration);
    const stopWatching = this.changes.keepWatching();
    return () => {
      this.#changeListeners.delete(registration);
      stopWatching();
    };
  }

  #takeForeign(tables: LmdbTables): void {
    for (const log of this.#logs.values()) log.update(tables.readHead(log.name));
    for (const listener of this.#changeListeners) queueMicrotask(listener);
  }
}
