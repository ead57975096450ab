import { vi } from "vitest";

/** Taken before anything is faked: a turn of the real event loop lets every promise that can settle do so. */
const realSetImmediate = setImmediate;

/**
 * Time that passes only when told. While it runs, timers, `Date` and `performance` of this process are virtual, so a run
 * of many virtual hours takes as long as its work, and takes it in the same order each time.
 *
 * Modules that keep a reference to `Date.now` (lib0 does) must be imported after `start`.
 */
export class VirtualTime {
  private constructor() {}

  /** Starts virtual time at a fixed moment. One at a time in a process. */
  static start(): VirtualTime {
    vi.useFakeTimers({
      now: Date.UTC(2026, 0, 1),
      toFake: [
        "setTimeout",
        "clearTimeout",
        "setInterval",
        "clearInterval",
        "setImmediate",
        "clearImmediate",
        "Date",
        "performance",
      ],
    });
    return new VirtualTime();
  }

  /** Lets this many ms pass: every timer due fires in order, and what it sets off by promises is done before the next. */
  async advance(ms: number): Promise<void> {
    let isReached = false;
    setTimeout(() => {
      isReached = true;
    }, ms);
    await settlePromises();
    while (!isReached) {
      vi.advanceTimersToNextTimer();
      await settlePromises();
    }
  }

  /** Forgets every timer: what processes of a finished run have left behind never fires. */
  clearTimers(): void {
    vi.clearAllTimers();
  }

  /** Gives the real clock back. */
  stop(): void {
    vi.useRealTimers();
  }
}

/** Waits until no promise can settle without time passing. */
export function settlePromises(): Promise<void> {
  return new Promise((resolve) => realSetImmediate(() => resolve()));
}
