import * as prng from "lib0/prng";

const words = [
  "fix",
  "the",
  "flaky",
  "login",
  "test",
  "Grüße",
  "木",
  "\u2028",
  "🌳",
  '"quoted"',
  "a\nb",
  "",
  "  padded ",
];

/** Choices from a seed. */
export class Random {
  readonly #generator: prng.PRNG;

  constructor(seed: number) {
    this.#generator = prng.create(seed);
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return prng.int32(this.#generator, min, max);
  }

  /** From `min` to below 1. */
  fraction(min: number): number {
    return min + prng.real53(this.#generator) * (1 - min) * 0.999_999;
  }

  /** True with a chance of 0 to 1. */
  bool(chance: number): boolean {
    return prng.real53(this.#generator) < chance;
  }

  /** One of the items. */
  of<Item>(items: readonly Item[]): Item {
    return items[this.int(0, items.length - 1)] as Item;
  }

  /** Some of the items, in their order. */
  list(items: readonly string[]): string[] {
    return items.filter(() => this.bool(0.5));
  }

  /** Up to six words, some of them awkward. */
  text(): string {
    return Array.from({ length: this.int(0, 6) }, () => this.of(words)).join(" ");
  }

  /** Any value that JSON knows, or none. */
  data(): unknown {
    return this.of<unknown>([undefined, null, 0, "text", { list: [1, 2], deep: { text: this.text() } }, [this.text()]]);
  }
}
