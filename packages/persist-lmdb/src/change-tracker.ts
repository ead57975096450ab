import { type FSWatcher, watch } from "node:fs";
import type { Environment } from "./environment.ts";
import type { LmdbTables } from "./lmdb-tables.ts";
import { dataFileName } from "./store-folder.ts";

/** An event comes when a commit's first pages are written; it becomes visible a little later, when they are synced. */
const recheckDelayMs = 5;

/** What a tracker needs to know. */
export interface ChangeTrackerOptions {
  /** The store's revision when it was opened. */
  readonly revision: number;
  readonly pollIntervalMs: number;
  readonly useFileEvents: boolean;
  /** Called with tables that show the foreign commits; it must only read. */
  readonly onForeign: (tables: LmdbTables) => void;
}

/**
 * Tells other processes' commits from our own by the store's revision: every commit adds 1 to it, so as long as it is
 * the one we know, nothing has happened. It is compared before each own commit, whenever somebody asks, and, while
 * somebody listens, on every change of the folder and every `pollIntervalMs` (file events are not to be relied on:
 * they may be missing on network folders, and they have limits).
 */
export class ChangeTracker {
  readonly #environment: Environment;
  readonly #options: ChangeTrackerOptions;
  #seenRevision: number;
  #isCommitting = false;
  #isCheckDue = false;
  #listeners = 0;
  #watcher: FSWatcher | undefined;
  #pollTimer: ReturnType<typeof setInterval> | undefined;
  #recheckTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(environment: Environment, options: ChangeTrackerOptions) {
    this.#environment = environment;
    this.#options = options;
    this.#seenRevision = options.revision;
  }

  /** Looks whether others have committed. During an own commit the look waits for its end. Never throws. */
  check(): void {
    if (this.#isCommitting) {
      this.#isCheckDue = true;
      return;
    }
    const tables = this.#environment.tables;
    if (tables === undefined) return;
    try {
      tables.refresh();
      this.#compare(tables);
    } catch {
      // A store that cannot be read says so to whoever reads or appends next; this look has nobody to tell.
    }
  }

  /** Starts an own commit; returns the revision to plan on. What others have committed until then is reported first. */
  beginCommit(tables: LmdbTables): number {
    this.#compare(tables);
    this.#isCommitting = true;
    return this.#seenRevision;
  }

  /** Ends it; `revision` is that of the commit, undefined when nothing was committed. */
  endCommit(revision: number | undefined): void {
    this.#isCommitting = false;
    if (revision !== undefined) this.#seenRevision = revision;
    if (!this.#isCheckDue) return;
    this.#isCheckDue = false;
    this.check();
  }

  /** Watches the folder until the returned function is called. However many ask, there is one watcher. */
  keepWatching(): () => void {
    if (this.#listeners++ === 0) this.#startWatching();
    let isStopped = false;
    return () => {
      if (isStopped) return;
      isStopped = true;
      if (--this.#listeners === 0) this.#stopWatching();
    };
  }

  #compare(tables: LmdbTables): void {
    const revision = tables.readRevision();
    if (revision === this.#seenRevision) return;
    this.#options.onForeign(tables); // first: if it cannot read, the next look must find the change again
    this.#seenRevision = revision;
  }

  #startWatching(): void {
    this.check(); // what came before the first listener
    this.#pollTimer = setInterval(() => this.check(), this.#options.pollIntervalMs);
    this.#pollTimer.unref();
    if (!this.#options.useFileEvents) return;
    try {
      this.#watcher = watch(this.#environment.folder, { persistent: false }, (_event, fileName) => {
        if (fileName !== null && fileName !== dataFileName) return;
        this.check();
        this.#recheckTimer ??= setTimeout(() => {
          this.#recheckTimer = undefined;
          this.check();
        }, recheckDelayMs).unref();
      });
      // Without events (no watches left, folder gone) the poll still sees every commit.
      this.#watcher.on("error", () => this.#watcher?.close());
    } catch {
      this.#watcher = undefined;
    }
  }

  #stopWatching(): void {
    clearInterval(this.#pollTimer);
    clearTimeout(this.#recheckTimer);
    this.#recheckTimer = undefined;
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}
