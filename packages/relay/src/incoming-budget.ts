/** What is told when a connection has to make room for the others. */
type MakeRoom = () => void;

/**
 * Bounds what all connections together have begun to send and not ended. A message may be as large as the largest
 * frame, and what came of it is held until its end: of a few hundred connections that never come to an end the relay
 * would die. Whoever holds most goes first, so that those who send in small pieces never have to.
 */
export class IncomingBudget {
  readonly #maxBytes: number;
  readonly #held = new Map<MakeRoom, number>();
  #totalBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Notes bytes of an unfinished message; calls `makeRoom` of whoever holds most while all hold too much. */
  add(makeRoom: MakeRoom, bytes: number): void {
    this.#held.set(makeRoom, (this.#held.get(makeRoom) ?? 0) + bytes);
    this.#totalBytes += bytes;
    while (this.#totalBytes > this.#maxBytes) {
      const [largest] = [...this.#held].reduce((most, next) => (next[1] > most[1] ? next : most));
      this.release(largest);
      largest();
    }
  }

  /** A message ended, or its connection did. */
  release(makeRoom: MakeRoom): void {
    this.#totalBytes -= this.#held.get(makeRoom) ?? 0;
    this.#held.delete(makeRoom);
  }
}
