/**
 * The Lamport numbers (`n`) of a log. An honest number never exceeds the number of records in the log, because each
 * is one more than a number that stands in it; a larger one is forged or a mistake and must not win for ever, so it
 * ranks as 0 until the log has grown to it.
 */
export class RecordNumbers {
  #highest = 0;
  #oversized: number[] = [];

  /** Takes note of a record's number. */
  add(n: number): void {
    this.#oversized.push(n);
  }

  /** The number of the next record in a log that holds `recordCount` records. */
  next(recordCount: number): number {
    const oversized: number[] = [];
    for (const n of this.#oversized) {
      if (n > recordCount) oversized.push(n);
      else if (n > this.#highest) this.#highest = n;
    }
    this.#oversized = oversized;
    return this.#highest + 1;
  }
}

/** The rank of a number in a log that holds `recordCount` records. */
export function judgeRank(n: number, recordCount: number): number {
  return n <= recordCount ? n : 0;
}
