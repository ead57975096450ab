import * as decoding from "lib0/decoding";
import * as encoding from "lib0/encoding";
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

/** Writes a coverage down: a count, then client id and clock of each; all varuints. */
export function encodeCoverage(coverage: Coverage): Uint8Array {
  const encoder = encoding.createEncoder();
  const clocks = coverage.entries();
  encoding.writeVarUint(encoder, clocks.size);
  for (const [client, clock] of clocks) {
    encoding.writeVarUint(encoder, client);
    encoding.writeVarUint(encoder, clock);
  }
  return encoding.toUint8Array(encoder);
}

/** Reads it back. Data that is not one is as good as none: it costs one question to the relay. */
export function decodeCoverage(bytes: Uint8Array | undefined): Coverage {
  if (bytes === undefined) return new Coverage();
  const clocks = new Map<number, number>();
  try {
    const decoder = decoding.createDecoder(bytes);
    for (let left = decoding.readVarUint(decoder); left > 0; left -= 1)
      clocks.set(decoding.readVarUint(decoder), decoding.readVarUint(decoder));
  } catch {
    return new Coverage();
  }
  return new Coverage(clocks);
}
