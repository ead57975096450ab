import { SessionError, type StoredUpdate, type UpdateLog, type UpdateStore } from "@coppice/core";

/** What a store does before it answers; tests make it slow or make it fail. */
export interface StoreHooks {
  /** Called before each group of appends is committed; rejecting makes all of the group fail. */
  beforeCommit?: (log: string, updates: readonly Uint8Array[]) => Promise<void>;
  /** Called when a log is opened. */
  beforeOpen?: (log: string) => Promise<void>;
  /** Called when reading begins, with the position to read after. */
  beforeRead?: (log: string, after: number) => Promise<void>;
  /** Called before a value is read. */
  beforeReadValue?: (key: string) => Promise<void>;
  /** Called before a value is written; rejecting makes that fail. */
  beforeWriteValue?: (key: string) => Promise<void>;
  /** Called before a range is replaced by a merged update. */
  beforeMerge?: (log: string, from: number, to: number) => Promise<void>;
}

/**
 * A small update store for these tests: the maps outlive the logs, as a disk does. Appends of one turn share a commit
 * in the next turn; a commit is all or nothing.
 */
export class MemoryUpdateStore implements UpdateStore {
  readonly logs = new Map<string, StoredUpdate[]>();
  readonly derived = new Map<string, Uint8Array>();
  readonly hooks: StoreHooks = {};
  openCount = 0;
  readonly #values = new Map<string, Uint8Array>();

  async openLog(name: string): Promise<UpdateLog> {
    await this.hooks.beforeOpen?.(name);
    const updates = this.logs.get(name) ?? [];
    this.logs.set(name, updates);
    this.openCount += 1;
    return new MemoryUpdateLog(name, updates, this);
  }

  async listLogs(): Promise<string[]> {
    return [...this.logs].filter(([, updates]) => updates.length > 0).map(([name]) => name);
  }

  async deleteLog(name: string): Promise<void> {
    this.logs.delete(name);
  }

  async readValue(key: string): Promise<Uint8Array | undefined> {
    await this.hooks.beforeReadValue?.(key);
    return this.#values.get(key);
  }

  async writeValue(key: string, value: Uint8Array | undefined): Promise<void> {
    await this.hooks.beforeWriteValue?.(key);
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
  }

  onForeignChange(): () => void {
    return () => {};
  }

  async close(): Promise<void> {}
}

interface PendingAppend {
  readonly update: Uint8Array;
  readonly resolve: (seq: number) => void;
  readonly reject: (error: unknown) => void;
}

class MemoryUpdateLog implements UpdateLog {
  readonly #name: string;
  readonly #updates: StoredUpdate[];
  readonly #store: MemoryUpdateStore;
  #group: PendingAppend[] = [];
  #commits: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(name: string, updates: StoredUpdate[], store: MemoryUpdateStore) {
    this.#name = name;
    this.#updates = updates;
    this.#store = store;
  }

  append(update: Uint8Array): Promise<number> {
    if (this.#isClosed) return Promise.reject(new SessionError("closed", `log ${this.#name} is closed`));
    return new Promise((resolve, reject) => {
      this.#group.push({ update: update.slice(), resolve, reject });
      if (this.#group.length > 1) return;
      const commit = (): Promise<void> => new Promise((done) => setImmediate(() => void this.#commit().then(done)));
      this.#commits = this.#commits.then(commit);
    });
  }

  async #commit(): Promise<void> {
    const group = this.#group;
    this.#group = [];
    try {
      await this.#store.hooks.beforeCommit?.(
        this.#name,
        group.map(({ update }) => update),
      );
      for (const { update, resolve } of group) {
        const seq = this.lastSeq() + 1;
        this.#updates.push({ seq, update });
        resolve(seq);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  read(after = 0): AsyncIterable<StoredUpdate> {
    return this.#read(after, this.lastSeq());
  }

  /** What stood at the end may be in a merged update behind it by now, so that one is the last. */
  async *#read(after: number, end: number): AsyncGenerator<StoredUpdate> {
    await this.#store.hooks.beforeRead?.(this.#name, after);
    if (after >= end) return;
    for (const stored of this.#updates.filter(({ seq }) => seq > after)) {
      yield stored;
      if (stored.seq >= end) return;
    }
  }

  lastSeq(): number {
    return this.#updates.at(-1)?.seq ?? 0;
  }

  async replaceRange(from: number, to: number, merged: Uint8Array): Promise<void> {
    await this.#store.hooks.beforeMerge?.(this.#name, from, to);
    const first = this.#updates.findIndex(({ seq }) => seq >= from);
    const last = this.#updates.findIndex(({ seq }) => seq === to);
    if (last === -1) throw new SessionError("not_found", `log ${this.#name} has nothing at ${to}`);
    this.#updates.splice(first, last - first + 1, { seq: to, update: merged.slice() });
  }

  async readDerived(name: string): Promise<Uint8Array | undefined> {
    return this.#store.derived.get(`${this.#name}/${name}`);
  }

  async writeDerived(name: string, data: Uint8Array): Promise<void> {
    this.#store.derived.set(`${this.#name}/${name}`, data);
  }

  onForeignAppend(): () => void {
    return () => {};
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#commits;
  }
}
