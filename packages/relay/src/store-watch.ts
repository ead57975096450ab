import type { UpdateStore } from "@coppice/core";
import type { Logger } from "pino";

/** A value no relay writes; asking for it is enough for a store to find out that it is gone. */
const probedValue = "relay-store-watch";

/** What a watch needs to know. */
export interface StoreWatchOptions {
  readonly store: UpdateStore;
  readonly logger: Logger;
  /** How often to look. */
  readonly intervalMs: number;
  /** How long the store must have been unreadable before it is given up. */
  readonly lostAfterMs: number;
  /** Called at every look that finds the store unreadable. */
  readonly onUnreadable: (error: unknown) => void;
}

/**
 * Looks now and then whether the store can be read. A relay whose data was deleted would notice at the next update, but
 * until then go on telling its clients what it holds.
 */
export class StoreWatch {
  /** Settles with the store's error when it has been unreadable for long; never otherwise, and never rejects. */
  readonly lost: Promise<unknown>;
  readonly #options: StoreWatchOptions;
  #reportLost: (error: unknown) => void = () => {};
  #unreadableSinceMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #look: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: StoreWatchOptions) {
    this.#options = options;
    this.lost = new Promise((resolve) => {
      this.#reportLost = resolve;
    });
    this.#schedule();
  }

  /** Whether the store could be read at the last look. */
  get isReadable(): boolean {
    return this.#unreadableSinceMs === undefined;
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#look = this.#lookAtStore();
    }, this.#options.intervalMs).unref();
  }

  async #lookAtStore(): Promise<void> {
    const { store, logger, lostAfterMs, onUnreadable } = this.#options;
    try {
      await store.readValue(probedValue);
      if (this.#unreadableSinceMs !== undefined) logger.info("the relay's store can be read again");
      this.#unreadableSinceMs = undefined;
    } catch (error) {
      if (this.#isClosed) return;
      const nowMs = performance.now();
      this.#unreadableSinceMs ??= nowMs;
      logger.error({ err: error }, "the relay's store cannot be read");
      onUnreadable(error);
      if (nowMs - this.#unreadableSinceMs >= lostAfterMs) this.#reportLost(error);
    }
    this.#schedule();
  }

  /** Stops; waits for a look under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#look;
  }
}
