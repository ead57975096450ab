import type { UpdateStore } from "@coppice/core";
import { maxChunkBytes } from "@coppice/wire";

const probeName = "relay-space-probe";

/**
 * Shut while the disk is full. A write that fails costs a room its members, since nobody can say then what is durable
 * but the log; so once one has failed for want of space, nothing is tried until something of the size of a chunk could
 * be written.
 */
export class WriteGate {
  readonly #store: UpdateStore;
  readonly #probeIntervalMs: number;
  readonly #onOpen: () => void;
  #timer: NodeJS.Timeout | undefined;
  #probing: Promise<void> = Promise.resolve();
  #isShut = false;
  #isClosed = false;

  /** @param onOpen called when there is space again */
  constructor(store: UpdateStore, probeIntervalMs: number, onOpen: () => void) {
    this.#store = store;
    this.#probeIntervalMs = probeIntervalMs;
    this.#onOpen = onOpen;
  }

  get isShut(): boolean {
    return this.#isShut;
  }

  /** Takes nothing more until there is space. */
  shut(): void {
    if (this.#isShut || this.#isClosed) return;
    this.#isShut = true;
    this.#schedule();
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#probing = this.#probe();
    }, this.#probeIntervalMs).unref();
  }

  async #probe(): Promise<void> {
    try {
      await this.#store.writeValue(probeName, new Uint8Array(maxChunkBytes));
      await this.#store.writeValue(probeName, undefined);
    } catch {
      // As full as before, or out of order: whoever is refused is told, and the store's watch looks after the rest.
      if (!this.#isClosed) this.#schedule();
      return;
    }
    this.#isShut = false;
    if (!this.#isClosed) this.#onOpen();
  }

  /** Stops looking; waits for a look under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#probing;
  }
}
