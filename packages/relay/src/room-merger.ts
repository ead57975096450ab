import { SessionError, type TaskQueue, type UpdateLog } from "@coppice/core";
import type { Logger } from "pino";
import { type MergeResult, mergeUpdates } from "./merge-updates.ts";
import type { MergeRange } from "./plan-merge.ts";
import type { RoomIndex } from "./room-index.ts";
import type { StoredSizes } from "./stored-sizes.ts";

/** What a merger works on. */
export interface RoomMergerOptions {
  readonly log: UpdateLog;
  readonly index: RoomIndex;
  readonly sizes: StoredSizes;
  /** The room's name, for the relay's own report. */
  readonly name: string;
  readonly logger: Logger;
  /** Shared by all rooms of a relay: merging is never urgent. */
  readonly queue: TaskQueue;
  /** Small updates after which a busy room is merged. */
  readonly mergeAfterUpdates: number;
  /** The same in bytes. */
  readonly mergeAfterBytes: number;
  /** Whether nobody is reading who remembers single positions up to here. */
  readonly isForgettable: (upTo: number) => boolean;
  /** Called when it is unknown what stands in the log. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Merges the stored updates of one room in the background, one range at a time.
 *
 * Readers need not know: the index goes on naming the positions at which structs were appended, and what was appended at
 * a position stands in the first stored update at or behind it. Only when no reader remembers single positions are those
 * of a merged range forgotten, to save memory.
 */
export class RoomMerger {
  readonly #options: RoomMergerOptions;
  #running: Promise<void> | undefined;
  #isStopped = false;
  #mergedCount = 0;
  /** Merged ranges whose single positions the index still names. */
  #toForget: MergeRange[] = [];

  constructor(options: RoomMergerOptions) {
    this.#options = options;
  }

  /** Number of merges so far. */
  get mergedCount(): number {
    return this.#mergedCount;
  }

  /** Starts merging when enough has come since the last time. */
  startWhenDue(): void {
    const { sizes, mergeAfterUpdates, mergeAfterBytes } = this.#options;
    const { count, bytes } = sizes.recent;
    if (count >= mergeAfterUpdates || bytes >= mergeAfterBytes) this.start();
  }

  /** Starts merging what there is to merge. */
  start(): void {
    if (this.#isStopped || this.#running !== undefined) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  async #run(): Promise<void> {
    const { sizes, log, index, queue, name, logger, onFailure } = this.#options;
    for (let range = sizes.plan(); range !== undefined && !this.#isStopped; range = sizes.plan()) {
      const asked = range;
      try {
        // Its turn may come long after it was queued.
        const merge = async (): Promise<MergeResult | undefined> =>
          this.#isStopped ? undefined : mergeUpdates(log, asked, (client, clock) => index.seqOf(client, clock));
        const result = await queue.run(merge);
        if (result === undefined) return;
        sizes.replace(result.range, result.stored);
        if (!result.isMerged) continue;
        this.#mergedCount += 1;
        this.#toForget.push(result.range);
        this.#forgetPositions();
      } catch (error) {
        // Nothing was changed, and there may be space later.
        if (error instanceof SessionError && error.code === "storage_full")
          logger.warn({ room: name, err: error }, "no space to merge");
        else onFailure(error);
        return;
      }
    }
  }

  #forgetPositions(): void {
    const { index, isForgettable } = this.#options;
    this.#toForget = this.#toForget.filter((range) => {
      if (!isForgettable(range.to)) return true;
      index.coalesce(range);
      return false;
    });
  }

  /** Starts nothing more, and waits for what is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }
}
