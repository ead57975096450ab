import { assertStoreName, SessionError, type StoredUpdate, type UpdateLog } from "@coppice/core";
import { customTable, derivedPrefix, updatesTable } from "./layout.ts";
import { readSlice, toOwnBytes } from "./read-slice.ts";
import type { SharedLog } from "./shared-log.ts";
import { settled } from "./transaction.ts";

/** What a handle tells its store. */
export interface LogHandleEvents {
  /** The log reaches this position by an append of ours. */
  appended(seq: number): void;
  /** Derived data was written. */
  changed(): void;
  /** It is closed; called once. */
  closed(): void;
}

/** One open handle of a log. */
export class IndexedDbUpdateLog implements UpdateLog {
  readonly #shared: SharedLog;
  readonly #events: LogHandleEvents;
  readonly #inFlight = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  /** `shared` has been opened for this handle. */
  constructor(shared: SharedLog, events: LogHandleEvents) {
    this.#shared = shared;
    this.#events = events;
  }

  async append(update: Uint8Array): Promise<number> {
    this.#assertOpen();
    // A copy without a rest: the browser stores the whole buffer that bytes are a part of.
    const bytes = new Uint8Array(update);
    return this.#track(
      this.#shared.queue.enqueue({
        tables: [updatesTable],
        bytes: bytes.length,
        stage: async (transaction) => Number(await settled(transaction.objectStore(updatesTable).add(bytes))),
        onCommitted: (seq) => {
          this.#shared.noteOwn(seq, this);
          this.#events.appended(seq);
        },
      }),
    );
  }

  read(after: number = 0): AsyncIterable<StoredUpdate> {
    // Asked for now: what is appended after this call is not part of the reading, whenever that begins.
    const end = this.#closing === undefined ? this.#shared.readLastSeq() : Promise.resolve(0);
    end.catch(() => undefined); // whoever reads is told; nobody may
    return this.#readSlices(after, end);
  }

  /**
   * In slices, each in a transaction of its own: none outlives the turn in which it has nothing to do. The log may be
   * merged meanwhile: then what stood up to the end may be in an update behind it, so the first one at or behind the end
   * is the last.
   */
  async *#readSlices(after: number, endOfLog: Promise<number>): AsyncGenerator<StoredUpdate> {
    this.#assertOpen();
    const end = await endOfLog;
    let position = after;
    while (position < end) {
      this.#assertOpen();
      const slice = await readSlice(this.#shared.connection, position, end);
      for (const stored of slice) {
        this.#assertOpen();
        yield stored;
        position = stored.seq;
      }
      if (slice.length === 0) return; // emptied meanwhile
    }
  }

  lastSeq(): number {
    return this.#shared.lastSeq;
  }

  async replaceRange(from: number, to: number, merged: Uint8Array): Promise<void> {
    this.#assertOpen();
    const bytes = new Uint8Array(merged);
    const { name } = this.#shared;
    await this.#track(
      this.#shared.queue.enqueue({
        tables: [updatesTable],
        bytes: bytes.length,
        isAlone: true,
        stage: async (transaction) => {
          const updates = transaction.objectStore(updatesTable);
          if ((await settled(updates.getKey(to))) === undefined)
            throw new SessionError("not_found", `The log ${name} has no update at position ${to}.`);
          if (from < to) updates.delete(IDBKeyRange.bound(from, to, false, true));
          await settled(updates.put(bytes, to));
        },
      }),
    );
  }

  async readDerived(name: string): Promise<Uint8Array | undefined> {
    this.#assertOpen();
    assertStoreName("derived data", name);
    const scope = { tables: [customTable], mode: "readonly" } as const;
    const { connection } = this.#shared;
    const stored: unknown = await connection.transact(scope, (transaction) =>
      settled(transaction.objectStore(customTable).get(derivedPrefix + name)),
    );
    return stored === undefined ? undefined : toOwnBytes(stored, connection.name);
  }

  async writeDerived(name: string, data: Uint8Array): Promise<void> {
    this.#assertOpen();
    assertStoreName("derived data", name);
    const bytes = new Uint8Array(data);
    // By itself and without a sync: it may vanish, and no append should wait for it.
    const scope = { tables: [customTable], mode: "readwrite", durability: "relaxed" } as const;
    await this.#track(
      this.#shared.connection.transact(scope, (transaction) =>
        settled(transaction.objectStore(customTable).put(bytes, derivedPrefix + name)),
      ),
    );
    this.#events.changed();
  }

  onForeignAppend(listener: () => void): () => void {
    this.#assertOpen();
    return this.#shared.listen(this, listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#inFlight);
    this.#shared.closeHandle(this);
    this.#events.closed();
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new SessionError("closed", `The log ${this.#shared.name} is closed.`);
  }

  #track<Value>(written: Promise<Value>): Promise<Value> {
    this.#inFlight.add(written);
    const forget = (): void => void this.#inFlight.delete(written);
    void written.then(forget, forget);
    return written;
  }
}
