/** How work that takes long is cut into slices, so that a process goes on with everything else meanwhile. */
export interface SliceOptions {
  /** Longest slice in ms; default 8, so that a slice with its last record stays below 10. */
  readonly sliceMs?: number | undefined;
  /** A clock in ms. Default `performance.now`. */
  readonly now?: (() => number) | undefined;
  /** Settles after other tasks had their turn. Default: `setImmediate` in Node, a message to itself in a browser. */
  readonly yieldTurn?: (() => Promise<void>) | undefined;
}

// In every JavaScript host; the compiler's plain ES library knows none of them.
declare const performance: { now(): number };
declare function setTimeout(callback: () => void, ms: number): unknown;

/** What some hosts have and some have not. */
interface HostTurns {
  setImmediate?: (callback: () => void) => unknown;
  MessageChannel?: new () => { port1: MessagePortLike; port2: MessagePortLike };
}

interface MessagePortLike {
  onmessage: (() => void) | null;
  postMessage(message: null): void;
  close(): void;
}

/** Longest slice unless told otherwise, in ms. */
const DEFAULT_SLICE_MS = 8;

/** The slices of one piece of work: ask `isOver` between steps, and await `next` when it is. */
export class Slices {
  readonly #sliceMs: number;
  readonly #now: () => number;
  readonly #yieldTurn: () => Promise<void>;
  #endMs: number;

  constructor(options: SliceOptions = {}) {
    this.#sliceMs = options.sliceMs ?? DEFAULT_SLICE_MS;
    this.#now = options.now ?? (() => performance.now());
    this.#yieldTurn = options.yieldTurn ?? yieldTurn;
    this.#endMs = this.#now() + this.#sliceMs;
  }

  /** Whether others should have their turn now. */
  get isOver(): boolean {
    return this.#now() >= this.#endMs;
  }

  /** Gives way, then begins the next slice. */
  async next(): Promise<void> {
    await this.#yieldTurn();
    this.#endMs = this.#now() + this.#sliceMs;
  }
}

/** Timers are the last resort: a browser makes nested ones wait 4 ms each. */
function yieldTurn(): Promise<void> {
  return new Promise((resolve) => {
    const { setImmediate, MessageChannel } = globalThis as HostTurns;
    if (setImmediate !== undefined) {
      setImmediate(resolve);
    } else if (MessageChannel !== undefined) {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
      port2.postMessage(null);
    } else {
      setTimeout(resolve, 0);
    }
  });
}
