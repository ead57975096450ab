import { setImmediate as nextTurn } from "node:timers/promises";

/** How long a loop over stored updates may keep the event loop, ms. Well below what a heartbeat or a reader notices. */
const sliceMs = 8;

/** Lets a long loop give the event loop back from time to time: a local store answers without ever doing so. */
export class TurnBudget {
  #sliceStart = performance.now();

  /** Waits for the next turn of the event loop when this slice is used up. */
  async spend(): Promise<void> {
    if (performance.now() - this.#sliceStart < sliceMs) return;
    await nextTurn();
    this.#sliceStart = performance.now();
  }
}
