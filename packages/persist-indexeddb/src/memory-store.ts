import { assertStoreName, SessionError, type StoredUpdate, type UpdateLog, type UpdateStore } from "@coppice/core";

interface MemoryLog {
  updates: StoredUpdate[];
  /** Last position that was given; goes on when the log is emptied. */
  givenSeq: number;
  readonly derived: Map<string, Uint8Array>;
  readonly listenersByHandle: Map<object, Set<() => void>>;
}

/**
 * Opens a store that keeps everything in this page's memory: for a test, or where there is no storage. It keeps the
 * whole contract of `UpdateStore` (UL1-UL17) as long as the page lives; "durable" means no more than that.
 */
export function openMemoryStore(): UpdateStore {
  return new MemoryData().open();
}

/** What the stores over the same memory share. */
export class MemoryData {
  readonly logs: Map<string, MemoryLog> = new Map();
  readonly values: Map<string, Uint8Array> = new Map();
  readonly #listenersByStore = new Map<object, Set<() => void>>();

  /** One more store over it. */
  open(): UpdateStore {
    return new MemoryStore(this);
  }

  log(name: string): MemoryLog {
    let log = this.logs.get(name);
    if (log === undefined) {
      log = { updates: [], givenSeq: 0, derived: new Map(), listenersByHandle: new Map() };
      this.logs.set(name, log);
    }
    return log;
  }

  listen(store: object, listener: () => void): () => void {
    return addListener(this.#listenersByStore, store, listener);
  }

  /** Tells the stores but the one that changed something. */
  tell(cause: object): void {
    tellOthers(this.#listenersByStore, cause);
  }

  forget(store: object): void {
    this.#listenersByStore.delete(store);
  }
}

class MemoryStore implements UpdateStore {
  readonly #data: MemoryData;
  readonly #handles = new Set<MemoryUpdateLog>();
  #isClosed = false;

  constructor(data: MemoryData) {
    this.#data = data;
  }

  async openLog(name: string): Promise<UpdateLog> {
    this.#assertOpen();
    assertStoreName("log", name);
    const log = new MemoryUpdateLog(name, this.#data.log(name), {
      changed: () => this.#data.tell(this),
      closed: () => this.#handles.delete(log),
    });
    this.#handles.add(log);
    return log;
  }

  async listLogs(): Promise<string[]> {
    this.#assertOpen();
    return [...this.#data.logs]
      .filter(([, { updates }]) => updates.length > 0)
      .map(([name]) => name)
      .sort();
  }

  async deleteLog(name: string): Promise<void> {
    this.#assertOpen();
    assertStoreName("log", name);
    const log = this.#data.logs.get(name);
    if (log === undefined) return;
    log.updates = [];
    log.derived.clear();
    this.#data.tell(this);
  }

  async readValue(key: string): Promise<Uint8Array | undefined> {
    this.#assertOpen();
    assertStoreName("value", key);
    return this.#data.values.get(key)?.slice();
  }

  async writeValue(key: string, value: Uint8Array | undefined): Promise<void> {
    this.#assertOpen();
    assertStoreName("value", key);
    if (value === undefined) this.#data.values.delete(key);
    else this.#data.values.set(key, new Uint8Array(value));
    this.#data.tell(this);
  }

  onForeignChange(listener: () => void): () => void {
    this.#assertOpen();
    return this.#data.listen(this, listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#data.forget(this);
    await Promise.all([...this.#handles].map((log) => log.close()));
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new SessionError("closed", "The store in memory is closed.");
  }
}

class MemoryUpdateLog implements UpdateLog {
  readonly #name: string;
  readonly #log: MemoryLog;
  readonly #events: { changed(): void; closed(): void };
  #isClosed = false;

  constructor(name: string, log: MemoryLog, events: { changed(): void; closed(): void }) {
    this.#name = name;
    this.#log = log;
    this.#events = events;
  }

  append(update: Uint8Array): Promise<number> {
    const copy = new Uint8Array(update);
    return this.#write(() => {
      const seq = ++this.#log.givenSeq;
      this.#log.updates.push({ seq, update: copy });
      tellOthers(this.#log.listenersByHandle, this);
      return seq;
    });
  }

  read(after: number = 0): AsyncIterable<StoredUpdate> {
    return this.#read(after, this.lastSeq());
  }

  /** What stood at the end may be in a merged update behind it by now, so that one is the last. */
  async *#read(after: number, end: number): AsyncGenerator<StoredUpdate> {
    this.#assertOpen();
    let [updates, at] = [this.#log.updates, 0];
    for (let position = after; position < end; ) {
      if (updates !== this.#log.updates) [updates, at] = [this.#log.updates, 0]; // merged or emptied meanwhile
      while ((updates[at]?.seq ?? position + 1) <= position) at++;
      const next = updates[at];
      if (next === undefined) return;
      position = next.seq;
      yield { seq: next.seq, update: next.update.slice() };
      this.#assertOpen();
    }
  }

  lastSeq(): number {
    return this.#log.updates.at(-1)?.seq ?? 0;
  }

  replaceRange(from: number, to: number, merged: Uint8Array): Promise<void> {
    const copy = new Uint8Array(merged);
    return this.#write(() => {
      const { updates } = this.#log;
      if (!updates.some(({ seq }) => seq === to))
        throw new SessionError("not_found", `The log ${this.#name} has no update at position ${to}.`);
      this.#log.updates = updates
        .filter(({ seq }) => seq < from || seq >= to)
        .map((stored) => (stored.seq === to ? { seq: to, update: copy } : stored));
    });
  }

  async readDerived(name: string): Promise<Uint8Array | undefined> {
    this.#assertOpen();
    assertStoreName("derived data", name);
    return this.#log.derived.get(name)?.slice();
  }

  writeDerived(name: string, data: Uint8Array): Promise<void> {
    const copy = new Uint8Array(data);
    return this.#write(() => {
      assertStoreName("derived data", name);
      this.#log.derived.set(name, copy);
    });
  }

  onForeignAppend(listener: () => void): () => void {
    this.#assertOpen();
    return addListener(this.#log.listenersByHandle, this, listener);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    // What was called before is done first: writes take effect at the end of their turn.
    await undefined;
    this.#isClosed = true;
    this.#log.listenersByHandle.delete(this);
    this.#events.closed();
  }

  /** Not before the end of the turn, as with any store: nothing is durable while its caller still runs. */
  async #write<Value>(write: () => Value): Promise<Value> {
    this.#assertOpen();
    await undefined;
    const value = write();
    this.#events.changed();
    return value;
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new SessionError("closed", `The log ${this.#name} is closed.`);
  }
}

function addListener(byOwner: Map<object, Set<() => void>>, owner: object, listener: () => void): () => void {
  const listeners = byOwner.get(owner) ?? new Set();
  byOwner.set(owner, listeners);
  const registration = (): void => listener();
  listeners.add(registration);
  return () => void listeners.delete(registration);
}

function tellOthers(byOwner: ReadonlyMap<object, ReadonlySet<() => void>>, cause: object): void {
  for (const [owner, listeners] of byOwner)
    if (owner !== cause) for (const listener of listeners) queueMicrotask(listener);
}
