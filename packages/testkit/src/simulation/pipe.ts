interface Item {
  readonly bytes: number;
  readonly arrivesAtMs: number;
  readonly arrive: () => void;
}

/** One direction of a connection: what is pushed arrives in order, each after its latency. */
export class Pipe {
  /** Called when the last item has arrived. */
  onEmpty: (() => void) | undefined;
  readonly #latencyMs: () => number;
  #items: Item[] = [];
  #bytes = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isPaused = false;
  #isStalled = false;
  #isCut = false;

  constructor(latencyMs: () => number) {
    this.#latencyMs = latencyMs;
  }

  /** Bytes that have not arrived. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the reader takes nothing at the moment. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  push(bytes: number, arrive: () => void): void {
    if (this.#isCut) return;
    const arrivesAtMs = Math.max(performance.now() + this.#latencyMs(), this.#items.at(-1)?.arrivesAtMs ?? 0);
    this.#items.push({ bytes, arrivesAtMs, arrive });
    this.#bytes += bytes;
    this.#schedule();
  }

  /** The reader stops taking. */
  pause(): void {
    this.#isPaused = true;
    this.#unschedule();
  }

  resume(): void {
    this.#isPaused = false;
    this.#schedule();
  }

  /** The line stands still for a while. */
  stall(ms: number): void {
    this.#isStalled = true;
    this.#unschedule();
    setTimeout(() => {
      this.#isStalled = false;
      this.#schedule();
    }, ms);
  }

  /** Everything under way is lost, and what is pushed later too. */
  cut(): void {
    this.#isCut = true;
    this.#items = [];
    this.#unschedule();
  }

  #unschedule(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    const next = this.#items[0];
    if (next === undefined || this.#timer !== undefined || this.#isPaused || this.#isStalled) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#items.shift();
        this.#bytes -= next.bytes;
        next.arrive();
        if (this.#items.length === 0) this.onEmpty?.();
        this.#schedule();
      },
      Math.max(0, next.arrivesAtMs - performance.now()),
    );
  }
}
