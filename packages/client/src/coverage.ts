import { encodeStateVector } from "@coppice/wire";
import * as Y from "yjs";
import type { ClockVector } from "./held-records.ts";

/** Derived data of a log: `encodeCoverage`. An earlier version kept what nobody had checked, under `coverage`. */
export const coverageSlot = "coverage-2";

/**
 * Which of our records the relay holds, byte for byte: per Yjs client id the first so many. Checked hashes of
 * acknowledgements and records that came from the relay are the only sources (SPEC CL5, CL40).
 */
export class Coverage {
  readonly #clocks: Map<number, number>;

  constructor(clocks: ClockVector = new Map()) {
    this.#clocks = new Map(clocks);
  }

  /** First clock of a client that is not covered. */
  get(client: number): number {
    return this.#clocks.get(client) ?? 0;
  }

  /** The relay holds our first `clock` records of a client. Returns whether that is news. */
  raise(client: number, clock: number): boolean {
    if (clock <= this.get(client)) return false;
    this.#clocks.set(client, clock);
    return true;
  }

  /** The relay is not known to hold more than `clock` of our records of a client. Returns whether that is news. */
  lower(client: number, clock: number): boolean {
    if (clock >= this.get(client)) return false;
    if (clock === 0) this.#clocks.delete(client);
    else this.#clocks.set(client, clock);
    return true;
  }

  /** Takes over the relay's whole vector: a restored relay that holds less lowers the coverage. Returns whether it did. */
  lowerTo(held: ClockVector): boolean {
    let isLowered = false;
    for (const client of [...this.#clocks.keys()]) if (this.lower(client, held.get(client) ?? 0)) isLowered = true;
    return isLowered;
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

/** Writes a coverage down, as a Yjs state vector. */
export function encodeCoverage(coverage: Coverage): Uint8Array {
  return encodeStateVector(coverage.entries());
}

/** Reads it back. Data that is not one is as good as none: it costs one question to the relay. */
export function decodeCoverage(bytes: Uint8Array | undefined): Coverage {
  try {
    return new Coverage(bytes && Y.decodeStateVector(bytes));
  } catch {
    // lib0 throws when the bytes end too early.
    return new Coverage();
  }
}
