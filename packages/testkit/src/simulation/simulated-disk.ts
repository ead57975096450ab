import { assertStoreName, SessionError, type StoredUpdate, type UpdateLog, type UpdateStore } from "@coppice/core";

/** How a simulated disk behaves. */
export interface SimulatedDiskOptions {
  /** How long the next commit takes, ms; asked once per commit. */
  readonly commitMs: () => number;
  /** How long beginning to read takes, ms. Default 0: in the same turn. */
  readonly readMs?: () => number;
}

/** Where a commit stands when the disk tells of it: about to become durable, or durable with nobody told yet. */
export type CommitPhase = "before" | "after";

/** What the next operations of a disk do: work, or fail as a full disk (writes) or a damaged one (reads) does. */
export interface DiskFaults {
  isFull: boolean;
  isUnreadable: boolean;
}

interface LogImage {
  updates: readonly StoredUpdate[];
  lastSeq: number;
  readonly derived: Map<string, Uint8Array>;
}

/** Everything on a disk at one moment. */
export interface DiskImage {
  readonly logs: ReadonlyMap<string, LogImage>;
  readonly values: ReadonlyMap<string, Uint8Array>;
}

interface Write {
  /** Log it belongs to; undefined: a value of the store. */
  readonly log: string | undefined;
  /** The handle that appends; undefined: this is no append. */
  readonly appender: object | undefined;
  /** Changes what is on the disk; may refuse by throwing. */
  readonly apply: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Somebody who wants to hear of a log's growth, or of any change, by others. */
interface DiskWatcher {
  readonly process: { readonly isAlive: boolean };
  /** The log; undefined: whatever another process changes. */
  readonly log: string | undefined;
  /** The handle that listens; what is appended through it, it knows. */
  readonly handle: object;
  readonly listener: () => void;
}

/** How long a process takes to notice what another one wrote, in ms. */
const foreignNoticeMs = 40;

/**
 * A disk that keeps update logs in memory and can be crashed between any two of its operations. Writes of one turn
 * share a commit, and so do those that come while a commit is under way; a commit is all or nothing and takes time. A
 * crash leaves the commit under way done or undone, everything after it undone, and the process that wrote without an
 * answer for ever.
 */
export class SimulatedDisk {
  readonly faults: DiskFaults = { isFull: false, isUnreadable: false };
  /** Called at each commit; may call `crash`. */
  onCommit: ((phase: CommitPhase) => void) | undefined;
  /** Called after updates became durable, with the log and its new updates. */
  onDurable: ((log: string, updates: readonly StoredUpdate[]) => void) | undefined;
  /** Called after updates of a log were replaced by a merged one. */
  onReplaced: ((log: string) => void) | undefined;
  /** Told of a value of the store when it has become durable; undefined: it has gone. */
  onValue: ((key: string, value: Uint8Array | undefined) => void) | undefined;
  readonly #options: SimulatedDiskOptions;
  #logs = new Map<string, LogImage>();
  #values = new Map<string, Uint8Array>();
  #process: DiskProcess | undefined;
  /** Who hears of what another process appends. */
  readonly #watchers = new Set<DiskWatcher>();

  constructor(options: SimulatedDiskOptions) {
    this.#options = options;
  }

  /** Opens the disk's store for one process; the one before must have crashed or closed. */
  open(): UpdateStore {
    if (this.#process?.isAlive) throw new Error("The disk is in use");
    this.#process = new DiskProcess(this, this.#options);
    return new SimulatedStore(this, this.#process);
  }

  /** The store for one more process beside it, which can be killed alone: what each appends the others hear of. */
  openBeside(): { readonly store: UpdateStore; kill(keepsCommit: boolean): void } {
    const process = new DiskProcess(this, this.#options);
    return { store: new SimulatedStore(this, process), kill: (keepsCommit) => process.kill(keepsCommit) };
  }

  /**
   * Tells of a commit: the other handles of the logs that have become longer, in the same process at once, and other
   * processes after a while. `appenders` has, by log, the handles through which was appended.
   */
  tellOthers(appenders: ReadonlyMap<string, ReadonlySet<object>>, by: object): void {
    for (const watcher of this.#watchers) {
      const isForeign = watcher.process !== by;
      const handles = watcher.log === undefined ? undefined : appenders.get(watcher.log);
      // One that appended itself has to be told of what others did beside it.
      const isConcerned =
        watcher.log === undefined ? isForeign : [...(handles ?? [])].some((handle) => handle !== watcher.handle);
      if (!isConcerned) continue;
      setTimeout(
        () => {
          if (this.#watchers.has(watcher) && watcher.process.isAlive) watcher.listener();
        },
        isForeign ? foreignNoticeMs : 0,
      );
    }
  }

  /** Hears of what others append or change. Returns the function that stops it. */
  watch(watcher: DiskWatcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /**
   * Kills the process that uses the disk. `keepsCommit` says whether the commit under way, if there is one, turns out to
   * have become durable.
   */
  crash(keepsCommit: boolean): void {
    this.#process?.kill(keepsCommit);
  }

  /** A copy of everything that is durable now. */
  backUp(): DiskImage {
    return copyImage({ logs: this.#logs, values: this.#values });
  }

  /** Puts a copy in the place of everything there is; no process may use the disk. */
  restore(image: DiskImage): void {
    if (this.#process?.isAlive) throw new Error("The disk is in use");
    const { logs, values } = copyImage(image);
    this.#logs = logs;
    this.#values = values;
  }

  /** Names of the logs that exist, sorted. */
  logNames(): string[] {
    return [...this.#logs.keys()].sort();
  }

  /** The durable updates of a log. */
  updatesOf(log: string): readonly StoredUpdate[] {
    return this.#logs.get(log)?.updates ?? [];
  }

  /** All bytes on the disk, file by file. */
  *contents(): Generator<Uint8Array> {
    for (const { updates, derived } of this.#logs.values()) {
      for (const { update } of updates) yield update;
      yield* derived.values();
    }
    yield* this.#values.values();
  }

  /** The log's durable state, for the disk's own handles. */
  imageOf(log: string): LogImage {
    let image = this.#logs.get(log);
    if (image === undefined) {
      image = { updates: [], lastSeq: 0, derived: new Map() };
      this.#logs.set(log, image);
    }
    return image;
  }

  /** The durable values, for the disk's own handles. */
  get values(): Map<string, Uint8Array> {
    return this.#values;
  }
}

/** The writes of one process: one commit at a time. */
class DiskProcess {
  isAlive = true;
  readonly #disk: SimulatedDisk;
  readonly #options: SimulatedDiskOptions;
  #waiting: Write[] = [];
  #committing: Write[] | undefined;
  #isScheduled = false;

  constructor(disk: SimulatedDisk, options: SimulatedDiskOptions) {
    this.#disk = disk;
    this.#options = options;
  }

  write<T>(log: string | undefined, appender: object | undefined, apply: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!this.isAlive) return;
      this.#waiting.push({ log, appender, apply, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Settles when a read may begin: after a while, with an error on a damaged disk, never for a process that was killed. */
  beginRead(): Promise<void> {
    const readMs = this.#options.readMs?.() ?? 0;
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        if (!this.isAlive) return;
        if (this.#disk.faults.isUnreadable) reject(new SessionError("storage", "The simulated disk cannot be read."));
        else resolve();
      };
      if (readMs === 0) begin();
      else setTimeout(begin, readMs);
    });
  }

  kill(keepsCommit: boolean): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    if (keepsCommit && this.#committing !== undefined && !this.#disk.faults.isFull) this.#apply(this.#committing);
    this.#waiting = [];
    this.#committing = undefined;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#committing !== undefined || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    // Whatever is written in this turn belongs to the same commit.
    setImmediate(() => {
      this.#isScheduled = false;
      if (!this.isAlive) return;
      this.#committing = this.#waiting;
      this.#waiting = [];
      setTimeout(() => this.#commit(), this.#options.commitMs());
    });
  }

  #commit(): void {
    if (!this.isAlive) return;
    this.#disk.onCommit?.("before");
    const writes = this.#committing;
    if (!this.isAlive || writes === undefined) return;
    if (this.#disk.faults.isFull) {
      this.#committing = undefined;
      // Appends behind a failed one fail with it, so that none stands in a log without those before it.
      const error = new SessionError("storage_full", "The simulated disk is full.");
      const failed = [...writes, ...this.#waiting];
      this.#waiting = [];
      for (const { reject } of failed) reject(error);
      return;
    }
    const outcomes = this.#apply(writes);
    this.#committing = undefined;
    this.#disk.onCommit?.("after");
    if (!this.isAlive) return;
    for (const { write, error, value } of outcomes) {
      if (error === undefined) write.resolve(value);
      else write.reject(error);
    }
    this.#schedule();
  }

  #apply(writes: readonly Write[]): { write: Write; error?: unknown; value?: unknown }[] {
    const before = new Map<string, number>();
    const appenders = new Map<string, Set<object>>();
    for (const { log, appender } of writes) {
      if (log === undefined || appender === undefined) continue;
      if (!before.has(log)) before.set(log, this.#disk.imageOf(log).lastSeq);
      appenders.set(log, (appenders.get(log) ?? new Set()).add(appender));
    }
    const outcomes = writes.map((write) => {
      try {
        return { write, value: write.apply() };
      } catch (error) {
        return { write, error };
      }
    });
    for (const [log, seq] of before) {
      this.#disk.onDurable?.(
        log,
        this.#disk.updatesOf(log).filter((stored) => stored.seq > seq),
      );
    }
    this.#disk.tellOthers(appenders, this);
    return outcomes;
  }
}

class SimulatedStore implements UpdateStore {
  readonly #disk: SimulatedDisk;
  readonly #process: DiskProcess;
  readonly #logs = new Set<SimulatedLog>();
  #isClosed = false;

  constructor(disk: SimulatedDisk, process: DiskProcess) {
    this.#disk = disk;
    this.#process = process;
  }

  async openLog(name: string): Promise<UpdateLog> {
    this.#requireOpen();
    assertStoreName("log", name);
    await this.#process.beginRead();
    const log = new SimulatedLog(name, this.#disk, this.#process);
    this.#logs.add(log);
    return log;
  }

  async listLogs(): Promise<string[]> {
    this.#requireOpen();
    await this.#process.beginRead();
    return this.#disk.logNames().filter((name) => this.#disk.updatesOf(name).length > 0);
  }

  async deleteLog(name: string): Promise<void> {
    this.#requireOpen();
    assertStoreName("log", name);
    await this.#process.write(name, undefined, () => {
      const image = this.#disk.imageOf(name);
      image.updates = [];
      image.derived.clear();
    });
  }

  async readValue(key: string): Promise<Uint8Array | undefined> {
    this.#requireOpen();
    assertStoreName("value", key);
    await this.#process.beginRead();
    return this.#disk.values.get(key)?.slice();
  }

  async writeValue(key: string, value: Uint8Array | undefined): Promise<void> {
    this.#requireOpen();
    assertStoreName("value", key);
    const copy = value === undefined ? undefined : new Uint8Array(value);
    await this.#process.write(undefined, undefined, () => {
      if (copy === undefined) this.#disk.values.delete(key);
      else this.#disk.values.set(key, copy);
      this.#disk.onValue?.(key, copy);
    });
  }

  onForeignChange(listener: () => void): () => void {
    return this.#disk.watch({ process: this.#process, log: undefined, handle: this, listener });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    for (const log of this.#logs) await log.close();
    this.#isClosed = true;
    this.#process.kill(true);
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new SessionError("closed", "The store is closed.");
  }
}

class SimulatedLog implements UpdateLog {
  readonly #name: string;
  readonly #disk: SimulatedDisk;
  readonly #process: DiskProcess;
  #inFlight: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(name: string, disk: SimulatedDisk, process: DiskProcess) {
    this.#name = name;
    this.#disk = disk;
    this.#process = process;
  }

  async append(update: Uint8Array): Promise<number> {
    this.#requireOpen();
    const copy = new Uint8Array(update);
    return this.#track(
      this.#process.write(this.#name, this, () => {
        const image = this.#disk.imageOf(this.#name);
        image.lastSeq += 1;
        image.updates = [...image.updates, { seq: image.lastSeq, update: copy }];
        return image.lastSeq;
      }),
    );
  }

  read(after = 0): AsyncIterable<StoredUpdate> {
    const end = this.lastSeq();
    return this.#read(after, end);
  }

  /** What stood at the end may be in a merged update behind it by now, so that one is the last. */
  async *#read(after: number, end: number): AsyncGenerator<StoredUpdate> {
    this.#requireOpen();
    await this.#process.beginRead();
    if (after >= end) return;
    for (const { seq, update } of this.#disk.updatesOf(this.#name)) {
      if (seq <= after) continue;
      this.#requireOpen();
      yield { seq, update: update.slice() };
      if (seq >= end) return;
    }
  }

  lastSeq(): number {
    const image = this.#disk.imageOf(this.#name);
    return image.updates.at(-1)?.seq ?? 0;
  }

  async replaceRange(from: number, to: number, merged: Uint8Array): Promise<void> {
    this.#requireOpen();
    const copy = new Uint8Array(merged);
    await this.#track(
      this.#process.write(this.#name, undefined, () => {
        const image = this.#disk.imageOf(this.#name);
        if (!image.updates.some(({ seq }) => seq === to))
          throw new SessionError("not_found", `No update stands at ${to}.`);
        image.updates = image.updates
          .filter(({ seq }) => seq < from || seq >= to)
          .map((stored) => (stored.seq === to ? { seq: to, update: copy } : stored));
        this.#disk.onReplaced?.(this.#name);
      }),
    );
  }

  async readDerived(name: string): Promise<Uint8Array | undefined> {
    this.#requireOpen();
    assertStoreName("derived data", name);
    await this.#process.beginRead();
    return this.#disk.imageOf(this.#name).derived.get(name)?.slice();
  }

  async writeDerived(name: string, data: Uint8Array): Promise<void> {
    this.#requireOpen();
    assertStoreName("derived data", name);
    const copy = new Uint8Array(data);
    await this.#track(
      this.#process.write(this.#name, undefined, () => {
        this.#disk.imageOf(this.#name).derived.set(name, copy);
      }),
    );
  }

  onForeignAppend(listener: () => void): () => void {
    return this.#disk.watch({ process: this.#process, log: this.#name, handle: this, listener });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#inFlight;
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new SessionError("closed", `The log ${this.#name} is closed.`);
  }

  #track<T>(written: Promise<T>): Promise<T> {
    const settled = written.catch(() => undefined);
    this.#inFlight = Promise.all([this.#inFlight, settled]);
    return written;
  }
}

function copyImage({ logs, values }: DiskImage): {
  logs: Map<string, LogImage>;
  values: Map<string, Uint8Array>;
} {
  const copiedLogs = new Map<string, LogImage>();
  // Stored bytes never change, so copies may share them.
  for (const [name, { updates, lastSeq, derived }] of logs)
    copiedLogs.set(name, { updates, lastSeq, derived: new Map(derived) });
  return { logs: copiedLogs, values: new Map(values) };
}
