/** Number of records per Yjs client id: what somebody holds. */
export type ClockVector = ReadonlyMap<number, number>;

/**
 * Which records the relay has acknowledged, whichever client id wrote them. The relay's own word is the only source:
 * an acknowledgement, a full answer to a question, or a record it sent us (SPEC CL5).
 */
export class Coverage {
  #clocks: Map<number, number>;

  constructor(clocks: ClockVector = new Map()) {
    this.#clocks = new Map(clocks);
  }

  /** Raises one client's covered clock. Returns whether it rose. */
  cover(client: number, clock: number): boolean {
    if (clock <= (this.#clocks.get(client) ?? 0)) return false;
    this.#clocks.set(client, clock);
    return true;
  }

  /** Takes over the relay's whole vector: a restored relay that knows less lowers the coverage. */
  replace(clocks: ClockVector): void {
    this.#clocks = new Map(clocks);
  }

  /** First clock of a client that is not covered. */
  get(client: number): number {
    return this.#clocks.get(client) ?? 0;
  }

  /** Records in `held` that are not covered. */
  countPending(held: ClockVector): number {
    let pending = 0;
    for (const [client, clock] of held) pending += Math.max(0, clock - this.get(client));
    return pending;
  }

  /** The covered clocks. */
  entries(): ClockVector {
    return this.#clocks;
  }
}
