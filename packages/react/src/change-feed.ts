/** What tells of its changes by kinds, and may be heard by any number of listeners. */
export interface ChangeSource<Kind extends string> {
  subscribe(listener: (kind: Kind) => void): () => void;
}

interface Listening<Kind> {
  readonly kinds: readonly Kind[];
  readonly listener: () => void;
}

/**
 * The changes of one source, counted at once and told once a turn: a hundred entries that arrive together are one render,
 * and so are several hooks that look at them. It listens to the source only while somebody listens to it.
 */
export class ChangeFeed<Kind extends string> {
  readonly #source: ChangeSource<Kind>;
  readonly #listenings = new Set<Listening<Kind>>();
  readonly #counts = new Map<Kind, number>();
  readonly #untold = new Set<Kind>();
  #stop: (() => void) | undefined;
  /** What was not heard between two times of listening may have been anything. */
  #gaps = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(source: ChangeSource<Kind>) {
    this.#source = source;
  }

  /** A number that is another one after each change of these kinds; undefined while nobody listens. */
  versionOf(kinds: readonly Kind[]): number | undefined {
    if (this.#stop === undefined) return undefined;
    return kinds.reduce((sum, kind) => sum + (this.#counts.get(kind) ?? 0), this.#gaps);
  }

  /** Calls the listener, in a turn of its own, after changes of these kinds. Returns the function that stops it. */
  subscribe(kinds: readonly Kind[], listener: () => void): () => void {
    const listening = { kinds, listener };
    this.#listenings.add(listening);
    if (this.#stop === undefined) {
      this.#gaps++;
      this.#stop = this.#source.subscribe((kind) => this.#take(kind));
    }
    return () => {
      this.#listenings.delete(listening);
      if (this.#listenings.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#untold.clear();
    };
  }

  #take(kind: Kind): void {
    this.#counts.set(kind, 1 + (this.#counts.get(kind) ?? 0));
    this.#untold.add(kind);
    this.#timer ??= setTimeout(() => this.#tell(), 0);
  }

  #tell(): void {
    this.#timer = undefined;
    const told = new Set(this.#untold);
    this.#untold.clear();
    // In one go, so that React renders once for all of them.
    for (const listening of [...this.#listenings])
      if (this.#listenings.has(listening) && listening.kinds.some((kind) => told.has(kind))) listening.listener();
  }
}
