import { assertStoreName, SessionError, type UpdateLog, type UpdateStore } from "@coppice/core";
import { IndexedDbUpdateLog } from "./indexeddb-update-log.ts";
import { customTable, derivedPrefix, updatesTable } from "./layout.ts";
import { requireFactory } from "./open-database.ts";
import { Registry } from "./registry.ts";
import type { SharedLog } from "./shared-log.ts";
import { describeError } from "./storage-errors.ts";
import { StoreLogs } from "./store-logs.ts";
import { TabChannel, type TabNews } from "./tab-channel.ts";

/** How to open a store. */
export interface IndexedDbStoreOptions {
  /** Names the store among those of this origin, and is how its databases begin. Default `coppice`. */
  readonly name?: string;
  /** Longest wait for a database to open, in ms, before the call that needs it is refused. Default 10,000. */
  readonly openTimeoutMs?: number;
}

export const defaultStoreName = "coppice";
export const defaultOpenTimeoutMs = 10_000;

/**
 * Opens the store of this origin in the browser, making it when it does not exist. Any number of tabs may have it open:
 * positions are given once, and each hears of what the others write.
 *
 * Every write but derived data is on the disk when its promise settles (a strict transaction has completed). Rejects
 * with `storage` where the browser has no storage or does not open it, with `storage_full`, or `version_mismatch`;
 * `openBrowserStore` goes on in memory then. SPEC UL1-UL17, IX1-IX10.
 */
export async function openIndexedDbStore(options: IndexedDbStoreOptions = {}): Promise<UpdateStore> {
  const { name = defaultStoreName, openTimeoutMs = defaultOpenTimeoutMs } = options;
  const place = { factory: requireFactory(), timeoutMs: openTimeoutMs };
  try {
    const registry = await Registry.open(name, place);
    return new IndexedDbStore(name, registry, new StoreLogs(name, registry, place));
  } catch (error) {
    throw describeError(name, "opened", error);
  }
}

class IndexedDbStore implements UpdateStore {
  readonly #name: string;
  readonly #registry: Registry;
  readonly #logs: StoreLogs;
  readonly #channel: TabChannel;
  readonly #handles = new Set<UpdateLog>();
  readonly #changeListeners = new Set<() => void>();
  readonly #underWay = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(name: string, registry: Registry, logs: StoreLogs) {
    this.#name = name;
    this.#registry = registry;
    this.#logs = logs;
    this.#channel = new TabChannel(`coppice:${name}`, {
      news: (news) => this.#takeNews(news),
      check: () => this.#check(),
    });
  }

  openLog(name: string): Promise<UpdateLog> {
    return this.#call("log", name, async () => {
      const shared = await this.#logs.acquire(name);
      const log = new IndexedDbUpdateLog(shared, {
        appended: (seq) => this.#channel.tell({ kind: "appended", log: name, lastSeq: seq }),
        changed: () => this.#channel.tell({ kind: "changed" }),
        closed: () => {
          this.#handles.delete(log);
          this.#logs.release(shared, log);
        },
      });
      this.#handles.add(log);
      return log;
    });
  }

  listLogs(): Promise<string[]> {
    return this.#call("log", undefined, async () => {
      const names = await this.#registry.listLogs();
      const filled = await Promise.all(names.map((name) => this.#isFilled(name)));
      return names.filter((_, at) => filled[at]).sort();
    });
  }

  deleteLog(name: string): Promise<void> {
    return this.#call("log", name, () =>
      this.#withLog(name, async (log) => {
        await log.queue.enqueue({
          tables: [updatesTable, customTable],
          bytes: 0,
          isAlone: true,
          // The tables stay: the one of updates goes on counting, so that no position is given twice.
          stage: async (transaction) => {
            transaction.objectStore(updatesTable).clear();
            transaction.objectStore(customTable).delete(derivedRange());
          },
          onCommitted: () => log.noteEmptied(),
        });
        this.#channel.tell({ kind: "emptied", log: name });
      }),
    );
  }

  readValue(key: string): Promise<Uint8Array | undefined> {
    return this.#call("value", key, () => this.#registry.readValue(key));
  }

  writeValue(key: string, value: Uint8Array | undefined): Promise<void> {
    const bytes = value && new Uint8Array(value);
    return this.#call("value", key, async () => {
      await this.#registry.writeValue(key, bytes);
      this.#channel.tell({ kind: "changed" });
    });
  }

  onForeignChange(listener: () => void): () => void {
    this.#assertOpen();
    const registration = (): void => listener();
    this.#changeListeners.add(registration);
    return () => void this.#changeListeners.delete(registration);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#changeListeners.clear();
    await Promise.allSettled(this.#underWay); // one that opens a log adds a handle
    await Promise.all([...this.#handles].map((log) => log.close()));
    this.#channel.close();
    await this.#registry.close();
  }

  /** Runs a call of the store; `close` waits for it. */
  async #call<Value>(what: "log" | "value", name: string | undefined, run: () => Promise<Value>): Promise<Value> {
    this.#assertOpen();
    if (name !== undefined) assertStoreName(what, name);
    const running = run();
    this.#underWay.add(running);
    try {
      return await running;
    } finally {
      this.#underWay.delete(running);
    }
  }

  async #isFilled(name: string): Promise<boolean> {
    const open = this.#logs.find(name);
    if (open !== undefined) return (await open.readLastSeq()) > 0;
    let lastSeq = 0;
    await this.#withLog(name, async (log) => {
      lastSeq = log.lastSeq;
    });
    return lastSeq > 0;
  }

  /** Does something with a log if there is one, opening it for as long as that takes. */
  async #withLog(name: string, use: (log: SharedLog) => Promise<void>): Promise<void> {
    const log = await this.#logs.acquireExisting(name);
    if (log === undefined) return;
    const handle = {};
    try {
      await use(log);
    } finally {
      this.#logs.release(log, handle);
    }
  }

  #takeNews(news: TabNews): void {
    if (news.kind === "appended") this.#logs.find(news.log)?.noteForeign(news.lastSeq);
    if (news.kind === "emptied") this.#logs.find(news.log)?.noteEmptied();
    for (const listener of this.#changeListeners) queueMicrotask(listener);
  }

  #check(): void {
    for (const log of this.#logs.all()) {
      if (!log.hasListeners) continue;
      // A database that cannot be read says so to whoever reads or appends next; this look has nobody to tell.
      log.readLastSeq().catch(() => undefined);
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined)
      throw new SessionError("closed", `The store ${this.#name} is closed; open it again.`);
  }
}

/** Keys of derived data: all texts that begin with the prefix. */
function derivedRange(): IDBKeyRange {
  return IDBKeyRange.bound(derivedPrefix, `${derivedPrefix}\uffff`);
}
