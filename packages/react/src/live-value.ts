import type { ChangeFeed } from "./change-feed.ts";

/** How a value is read from a source. */
export interface LiveValueOptions<Kind extends string, Value> {
  readonly feed: ChangeFeed<Kind>;
  /** The changes after which the value may be another. */
  readonly kinds: readonly Kind[];
  /** `before` is what was read last; it is given back when nothing of it has changed. */
  readonly read: (before: Value | undefined) => Value;
}

/** A value of a source as `useSyncExternalStore` wants it: the same object as long as it says the same. */
export class LiveValue<Kind extends string, Value> {
  readonly #options: LiveValueOptions<Kind, Value>;
  #value: Value | undefined;
  /** Undefined: to be read again. */
  #version: number | undefined;

  constructor(options: LiveValueOptions<Kind, Value>) {
    this.#options = options;
  }

  readonly get = (): Value => {
    const { feed, kinds, read } = this.#options;
    const version = feed.versionOf(kinds);
    if (this.#value !== undefined && version !== undefined && version === this.#version) return this.#value;
    this.#value = read(this.#value);
    this.#version = version;
    return this.#value;
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    const { feed, kinds } = this.#options;
    return feed.subscribe(kinds, listener);
  };
}
