import { fullBytes, type MergeRange, planMerge, type StoredSize } from "./plan-merge.ts";

/**
 * How large the stored updates of a room are, for planning merges. Kept with the index snapshot, so it may be older
 * than the log: whoever merges tells what was really there.
 */
export class StoredSizes {
  #stored: StoredSize[];
  #smallCount = 0;
  #smallBytes = 0;

  constructor(stored: readonly StoredSize[] = []) {
    this.#stored = [...stored];
  }

  /** All, in order. */
  list(): readonly StoredSize[] {
    return this.#stored;
  }

  /** Notes a stored update behind all others. */
  add(stored: StoredSize): void {
    this.#stored.push(stored);
    if (stored.bytes >= fullBytes) return;
    this.#smallCount += 1;
    this.#smallBytes += stored.bytes;
  }

  /** Small updates that came since the last `plan`. */
  get recent(): { readonly count: number; readonly bytes: number } {
    return { count: this.#smallCount, bytes: this.#smallBytes };
  }

  /** What to merge next. */
  plan(): MergeRange | undefined {
    this.#smallCount = 0;
    this.#smallBytes = 0;
    return planMerge(this.#stored);
  }

  /** Notes what stands in a range now. */
  replace({ from, to }: MergeRange, now: readonly StoredSize[]): void {
    const first = this.#stored.findIndex(({ seq }) => seq >= from);
    const behind = this.#stored.findIndex(({ seq }) => seq > to);
    if (first === -1) return;
    this.#stored.splice(first, (behind === -1 ? this.#stored.length : behind) - first, ...now);
  }
}
