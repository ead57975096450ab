import { extendCheck, type StateVector, type Struct } from "@coppice/wire";
import type { MergeRange } from "./plan-merge.ts";
import { sha256 } from "./sha256.ts";

/** Where the structs of one client are: the structs from `clocks[i]` to the one before `clocks[i + 1]` are in update `seqs[i]`. */
export interface ClientIndex {
  /** Number of structs held. */
  held: number;
  /** Check of all of them. */
  check: Uint8Array | null;
  readonly clocks: number[];
  readonly seqs: number[];
}

/**
 * What of a room is durable and which stored update holds it: the state vector, and for every struct a position in
 * the log. In memory two numbers per client and stored update, and per client one check,
 * which grows with each struct: records are hashed once, and never read again for it.
 */
export class RoomIndex {
  readonly #clients = new Map<number, ClientIndex>();

  /** Number of structs held of a client. */
  held(client: number): number {
    return this.#clients.get(client)?.held ?? 0;
  }

  /** Check of all of a client's structs; null when it has none. */
  checkOf(client: number): Uint8Array | null {
    return this.#clients.get(client)?.check ?? null;
  }

  /** Clients that have at least one struct. */
  clients(): Iterable<number> {
    return this.#clients.keys();
  }

  get clientCount(): number {
    return this.#clients.size;
  }

  /** Number of structs held of all clients. */
  countStructs(): number {
    let count = 0;
    for (const { held } of this.#clients.values()) count += held;
    return count;
  }

  /** All there is, for a snapshot. */
  *entries(): Generator<{ client: number } & Readonly<ClientIndex>> {
    for (const [client, entry] of this.#clients) yield { client, ...entry };
  }

  /** Puts back one client of a snapshot. */
  restore(client: number, entry: ClientIndex): void {
    this.#clients.set(client, entry);
  }

  /** Number of structs held of every client, as a copy. */
  toStateVector(): Map<number, number> {
    const vector = new Map<number, number>();
    for (const [client, { held }] of this.#clients) vector.set(client, held);
    return vector;
  }

  /** Notes that the stored update `seq` holds these structs. Positions only grow, clocks are contiguous per client. */
  add(seq: number, structs: readonly Struct[]): void {
    for (const { client, clock, encoded } of structs) {
      let entry = this.#clients.get(client);
      if (entry === undefined) {
        entry = { held: 0, check: null, clocks: [], seqs: [] };
        this.#clients.set(client, entry);
      }
      if (clock !== entry.held) throw new Error(`clock ${clock} of client ${client} does not follow ${entry.held}`);
      entry.held += 1;
      entry.check = extendCheck(entry.check, encoded, sha256);
      if (entry.seqs.at(-1) === seq) continue;
      entry.clocks.push(clock);
      entry.seqs.push(seq);
    }
  }

  /** Position at which a struct was stored, or undefined when it is not held. */
  seqOf(client: number, clock: number): number | undefined {
    const entry = this.#clients.get(client);
    if (entry === undefined || clock >= entry.held) return undefined;
    return entry.seqs[lastIndexNotAbove(entry.clocks, clock)];
  }

  /** Forgets the single positions of a range that was merged; all of it counts as stored at its end. */
  coalesce({ from, to }: MergeRange): void {
    for (const { clocks, seqs } of this.#clients.values()) {
      const first = countBelow(seqs, from);
      const end = countBelow(seqs, to + 1);
      if (first === end) continue;
      seqs[first] = to;
      seqs.splice(first + 1, end - first - 1);
      clocks.splice(first + 1, end - first - 1);
    }
  }

  /** Positions of all stored updates that hold something a reader with this state vector lacks; ascending. */
  seqsBeyond(vector: StateVector): number[] {
    const seqs = new Set<number>();
    for (const [client, entry] of this.#clients) {
      const clock = vector.get(client) ?? 0;
      if (clock >= entry.held) continue;
      for (let i = lastIndexNotAbove(entry.clocks, clock); i < entry.seqs.length; i += 1) {
        seqs.add(entry.seqs[i] as number);
      }
    }
    return toAscending(seqs);
  }

  /** Positions of all stored updates behind this one that hold something; ascending. */
  seqsAfter(position: number): number[] {
    const seqs = new Set<number>();
    for (const entry of this.#clients.values()) {
      for (let i = countBelow(entry.seqs, position + 1); i < entry.seqs.length; i += 1)
        seqs.add(entry.seqs[i] as number);
    }
    return toAscending(seqs);
  }
}

const toAscending = (seqs: ReadonlySet<number>): number[] => [...seqs].sort((left, right) => left - right);

/** Number of elements below the value. */
function countBelow(sorted: readonly number[], value: number): number {
  const last = lastIndexNotAbove(sorted, value - 1);
  return (sorted[last] ?? value) < value ? last + 1 : 0;
}

/** Index of the last element that is not above the value; 0 when all are. */
function lastIndexNotAbove(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((sorted[middle] as number) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}
