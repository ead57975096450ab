import { SessionError, type UpdateLog } from "@coppice/core";
import { messageOf } from "./error-message.ts";
import type { ClockVector } from "./held-records.ts";

/** A run of this replica's own records, by the clocks they have in the document: `from` inclusive, `to` exclusive. */
export interface OwnRange {
  /** Yjs client id they were made under. */
  readonly client: number;
  readonly from: number;
  readonly to: number;
}

/** What the queue tells its owner. */
export interface DurableQueueEvents {
  /** The update is durable at this position of the log; `own` as it was pushed. */
  saved(update: Uint8Array, seq: number, own: OwnRange | undefined): void;
  /** Saving failed (an error) or works again (undefined). */
  health(error: SessionError | undefined): void;
}

/** An update on its way to the disk. */
export interface QueuedUpdate {
  readonly update: Uint8Array;
  /** First clock of what it holds, whoever wrote it, by client id. */
  readonly firstClocks: ClockVector;
  /** This replica's records in it. */
  readonly own: OwnRange | undefined;
}

/** How long a failed save waits before it is tried again, in ms. */
const retryDelayMs = 1_000;

/**
 * Brings the document's updates into the local log, in order. Appends are handed over at once, so that the log can
 * put those of one turn into one commit; after a failure everything unsaved is kept and tried again, in order,
 * until it is durable. Nothing is dropped and nothing latches (SPEC CL2).
 */
export class DurableQueue {
  readonly #log: UpdateLog;
  readonly #events: DurableQueueEvents;
  #unsaved: QueuedUpdate[] = [];
  #unsavedRecords = 0;
  #inFlight: Promise<void> = Promise.resolve();
  #failure: SessionError | undefined;
  /** What has to be done before anything more is saved. */
  #step: (() => Promise<void>) | undefined;
  /** While one update is saved after the other: what is pushed meanwhile waits its turn. */
  #isBehind = false;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(log: UpdateLog, events: DurableQueueEvents) {
    this.#log = log;
    this.#events = events;
  }

  /** Queues one update. */
  push(queued: QueuedUpdate): void {
    this.#unsaved.push(queued);
    this.#unsavedRecords += countOwn(queued);
    // While saving fails, order matters more than speed: the retry saves everything in turn.
    if (!this.#isBehind) this.#save(queued);
  }

  /**
   * Once what is on its way has ended, does `step` before anything more is saved; a step that fails is repeated, as a
   * save is. What is not durable yet goes through `rewrite`, which may leave all or a part of it out.
   */
  restart(step: () => Promise<void>, rewrite: (queued: QueuedUpdate) => QueuedUpdate | undefined): void {
    this.#unsaved = this.#unsaved.map(rewrite).filter((queued) => queued !== undefined);
    this.#unsavedRecords = this.#unsaved.reduce((count, queued) => count + countOwn(queued), 0);
    this.#step = step;
    this.#isBehind = true;
    clearTimeout(this.#retryTimer);
    this.#inFlight = this.#inFlight.then(() => this.#saveAgain());
  }

  /** Settles when everything pushed so far is durable; rejects with the storage's error, and saving goes on being tried. */
  async flushed(): Promise<void> {
    await this.#inFlight;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * First clock that is not durable yet, by client id, whoever wrote what is there; a client id without unsaved records
   * is not in it.
   */
  firstUnsavedClocks(): ClockVector {
    const clocks = new Map<number, number>();
    for (const { firstClocks } of this.#unsaved)
      for (const [client, clock] of firstClocks) if (!clocks.has(client)) clocks.set(client, clock);
    return clocks;
  }

  /** Number of own records that are not durable yet. */
  unsavedRecords(): number {
    return this.#unsavedRecords;
  }

  /** Tries once more to save what is unsaved, then stops. Rejects when something stays unsaved. Safe to call twice. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retryTimer);
    await this.#inFlight;
    if (this.#isBehind || this.#unsaved.length > 0) await this.#saveAgain();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #save(queued: QueuedUpdate): void {
    const saving = this.#log.append(queued.update).then(
      (seq) => this.#settle(queued, seq),
      (error: unknown) => this.#fail(error),
    );
    this.#inFlight = Promise.all([this.#inFlight, saving]).then(() => undefined);
  }

  #settle(queued: QueuedUpdate, seq: number): void {
    const at = this.#unsaved.indexOf(queued);
    if (at >= 0) {
      this.#unsaved.splice(at, 1);
      this.#unsavedRecords -= countOwn(queued);
    }
    this.#events.saved(queued.update, seq, queued.own);
  }

  #fail(error: unknown): void {
    this.#isBehind = true;
    this.#setHealth(
      error instanceof SessionError
        ? error
        : new SessionError("storage", `The local log cannot be written: ${messageOf(error)}`, { cause: error }),
    );
    if (this.#closed) return;
    clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(() => {
      this.#inFlight = this.#inFlight.then(() => this.#saveAgain());
    }, retryDelayMs);
  }

  async #saveAgain(): Promise<void> {
    try {
      const step = this.#step;
      await step?.();
      // Another one may have taken its place meanwhile; it has its own turn.
      if (this.#step !== step) return;
      this.#step = undefined;
      for (let next = this.#unsaved[0]; next !== undefined; next = this.#unsaved[0]) {
        this.#settle(next, await this.#log.append(next.update));
        if (this.#step !== undefined) return;
      }
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#isBehind = false;
    this.#setHealth(undefined);
  }

  #setHealth(error: SessionError | undefined): void {
    if (error === this.#failure) return;
    this.#failure = error;
    this.#events.health(error);
  }
}

function countOwn({ own }: QueuedUpdate): number {
  return own === undefined ? 0 : own.to - own.from;
}
