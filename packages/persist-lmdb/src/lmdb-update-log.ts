import { setImmediate as nextTurn } from "node:timers/promises";
import { assertStoreName, SessionError, type StoredUpdate, type UpdateLog } from "@coppice/core";
import type { SharedLog } from "./shared-log.ts";
import type { StoreCore } from "./store-core.ts";

/** How much of a log a reader holds in memory at a time; one update may be larger. */
const sliceBytes = 1024 * 1024;

/** One open handle of a log in an LMDB store. */
export class LmdbUpdateLog implements UpdateLog {
  readonly #core: StoreCore;
  readonly #shared: SharedLog;
  readonly #onClose: () => void;
  // Made when needed: a relay has thousands of logs open, and most of them are idle.
  #inFlight: Set<Promise<unknown>> | undefined;
  #stopListening: Set<() => void> | undefined;
  #closing: Promise<void> | undefined;

  /** `shared` has been opened for this handle; `onClose` runs once, when it is closed. */
  constructor(core: StoreCore, shared: SharedLog, onClose: () => void) {
    this.#core = core;
    this.#shared = shared;
    this.#onClose = onClose;
  }

  async append(update: Uint8Array): Promise<number> {
    this.#assertOpen();
    // A copy: lmdb reads the bytes on another thread, where a buffer that was changed or transferred would be fatal.
    const bytes = new Uint8Array(update);
    const { name } = this.#shared;
    return this.#track(
      this.#core.queue.enqueue({
        log: name,
        bytes: bytes.length,
        isAlone: false,
        stage: (staged) => {
          const seq = staged.head(name).lastSeq + 1;
          staged.add({ kind: "update", log: name, seq, bytes });
          staged.setHead(name, { lastSeq: seq, isEmpty: false });
          return seq;
        },
        onCommitted: (seq) => this.#shared.update({ lastSeq: seq, isEmpty: false }, this),
      }),
    );
  }

  read(after: number = 0): AsyncIterable<StoredUpdate> {
    return this.#readSlices(after, this.lastSeq());
  }

  /**
   * In slices, each from the newest state, so that a slow reader keeps no old pages alive. The log may be merged
   * meanwhile: then what stood up to `end` may be in a chunk behind it, so the first update at or behind `end` ends
   * the reading, not the position itself.
   */
  async *#readSlices(after: number, end: number): AsyncGenerator<StoredUpdate> {
    let position = after;
    while (position < end) {
      this.#assertOpen();
      const slice = await this.#core.read((tables) => tables.readUpdates(this.#shared.name, position, end, sliceBytes));
      for (const stored of slice) {
        yield stored;
        position = stored.seq;
      }
      if (slice.length === 0) return; // deleted meanwhile
      await nextTurn(); // a long log must not keep the process from anything else
    }
  }

  lastSeq(): number {
    if (this.#closing === undefined) this.#core.changes.check();
    return this.#shared.lastSeq;
  }

  async replaceRange(from: number, to: number, merged: Uint8Array): Promise<void> {
    this.#assertOpen();
    const bytes = new Uint8Array(merged);
    const { name } = this.#shared;
    await this.#track(
      this.#core.queue.enqueue({
        log: name,
        bytes: bytes.length,
        isAlone: true,
        stage: (staged) => {
          const seqs = staged.tables.listSeqs(name, from, to);
          if (seqs.pop() !== to)
            throw new SessionError("not_found", `The log ${name} has no update at position ${to}.`);
          for (const seq of seqs) staged.add({ kind: "update", log: name, seq, bytes: undefined });
          staged.add({ kind: "update", log: name, seq: to, bytes });
        },
      }),
    );
  }

  async readDerived(name: string): Promise<Uint8Array | undefined> {
    this.#assertOpen();
    assertStoreName("derived data", name);
    return this.#core.read((tables) => tables.readDerived(this.#shared.name, name));
  }

  async writeDerived(name: string, data: Uint8Array): Promise<void> {
    this.#assertOpen();
    assertStoreName("derived data", name);
    const bytes = new Uint8Array(data);
    const log = this.#shared.name;
    await this.#track(
      this.#core.queue.enqueue({
        log,
        bytes: bytes.length,
        isAlone: false,
        stage: (staged) => staged.add({ kind: "derived", log, name, bytes }),
      }),
    );
  }

  onForeignAppend(listener: () => void): () => void {
    this.#assertOpen();
    const stopListening = this.#shared.listen(this, listener);
    const stopWatching = this.#core.changes.keepWatching();
    const stop = (): void => {
      stopListening();
      stopWatching();
      this.#stopListening?.delete(stop);
    };
    this.#stopListening ??= new Set();
    this.#stopListening.add(stop);
    return stop;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const stop of this.#stopListening ?? []) stop();
    await Promise.allSettled(this.#inFlight ?? []);
    this.#core.closeSharedLog(this.#shared, this);
    this.#onClose();
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new SessionError("closed", `The log ${this.#shared.name} is closed.`);
  }

  #track<Value>(written: Promise<Value>): Promise<Value> {
    const inFlight = this.#inFlight ?? new Set();
    this.#inFlight = inFlight.add(written);
    const forget = (): void => {
      inFlight.delete(written);
      if (inFlight.size === 0 && this.#inFlight === inFlight) this.#inFlight = undefined;
    };
    void written.then(forget, forget);
    return written;
  }
}
