/**
 * The positions in the log at which no entry stands (session headers, records that do not open), so that a position
 * among all records can be turned into one among the entries. They are few: a shift of all costs next to nothing.
 */
export class OtherPositions {
  /** Ascending. */
  readonly #positions: number[] = [];

  /** How many there are before a position. */
  countBefore(position: number): number {
    let [low, high] = [0, this.#positions.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#positions[middle] ?? 0) < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Takes note of records that were put into the log, the first at `position`. */
  insert<Inserted>(position: number, records: readonly Inserted[], isEntry: (record: Inserted) => boolean): void {
    const first = this.countBefore(position);
    const behind = this.#positions.splice(first);
    for (const [offset, record] of records.entries()) if (!isEntry(record)) this.#positions.push(position + offset);
    for (const other of behind) this.#positions.push(other + records.length);
  }
}
