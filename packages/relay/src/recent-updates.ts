import type { Broadcast } from "./broadcast.ts";

/** An update that was just committed, ready to be sent. */
export interface RecentUpdate {
  readonly seq: number;
  readonly broadcast: Broadcast;
  /** Who delivered it; it is not sent back there. */
  readonly sender: object;
}

/**
 * The newest updates of a room, so that readers at the head are served without touching the disk. Bounded: whoever
 * falls further behind reads from the log.
 */
export class RecentUpdates {
  /** Undefined while there are none: most rooms are idle most of the time. */
  #bySeq: Map<number, RecentUpdate> | undefined;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds the next update and drops the oldest ones above the bound; the newest always stays. */
  add(update: RecentUpdate): void {
    this.#bySeq ??= new Map();
    this.#bySeq.set(update.seq, update);
    this.#bytes += update.broadcast.message.length;
    for (const oldest of this.#bySeq.values()) {
      if (this.#bytes <= this.#maxBytes || oldest === update) break;
      this.#drop(this.#bySeq, oldest);
    }
  }

  get(seq: number): RecentUpdate | undefined {
    return this.#bySeq?.get(seq);
  }

  /** Drops what every reader has got. */
  dropUpTo(seq: number): void {
    if (this.#bySeq === undefined) return;
    for (const oldest of this.#bySeq.values()) {
      if (oldest.seq > seq) return;
      this.#drop(this.#bySeq, oldest);
    }
    this.#bySeq = undefined;
  }

  #drop(bySeq: Map<number, RecentUpdate>, update: RecentUpdate): void {
    bySeq.delete(update.seq);
    this.#bytes -= update.broadcast.message.length;
  }
}
