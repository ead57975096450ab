import { encodeStruct, extendCheck, type Sha256, type Struct } from "@coppice/wire";
import { sha256 as pureSha256 } from "@noble/hashes/sha2.js";
import { createDecoder, hasContent, readUint8Array, readVarUint } from "lib0/decoding";
import { createEncoder, toUint8Array, writeUint8Array, writeVarUint } from "lib0/encoding";
import type * as Y from "yjs";
import { type ClockVector, isSameBytes, readHeldRecord } from "./held-records.ts";

/** Derived data of a log: `encodeCoverage`. Earlier versions, which took more for covered, kept theirs elsewhere. */
export const coverageSlot = "coverage-3";

const checkBytes = 8;

/** The first so many records of one client id. */
interface CoveredRecords {
  readonly clock: number;
  /** Their check (SPEC WI20), as far as it has been worked out; null: there are none. */
  readonly check: Uint8Array | null | undefined;
}

const nothing: CoveredRecords = { clock: 0, check: null };

/**
 * Which of our records the relay holds, byte for byte: per Yjs client id the first so many. Checks of acknowledgements
 * and records that came from the relay are the only sources (SPEC CL5, CL40). Beside each number stands the check of
 * those records, so that a later check hashes only what came since.
 */
export class Coverage {
  readonly #covered = new Map<number, CoveredRecords>();
  readonly #sha256: Sha256;

  constructor(clocks: ClockVector = new Map(), sha256: Sha256 = pureSha256) {
    for (const [client, clock] of clocks) this.#covered.set(client, { clock, check: undefined });
    this.#sha256 = sha256;
  }

  /** First clock of a client that is not covered. */
  get(client: number): number {
    return this.#of(client).clock;
  }

  /** Whether the relay's check of a client's first `clock` records is that of ours; `doc` holds as many. */
  isProof(doc: Y.Doc, client: number, clock: number, check: Uint8Array): boolean {
    const covered = this.#of(client);
    if (isEqual(this.#checkBehind(covered, doc, client, clock), check)) return true;
    // Another process may have kept a check of records that have given way since: only the records themselves decide.
    return covered.clock > 0 && isEqual(this.#checkBehind(nothing, doc, client, clock), check);
  }

  /** The relay holds our first `clock` records of a client, and this is their check. Returns whether that is news. */
  raise(client: number, clock: number, check?: Uint8Array): boolean {
    if (clock < this.get(client) || (clock === this.get(client) && check === undefined)) return false;
    const isNews = clock > this.get(client);
    this.#covered.set(client, { clock, check });
    return isNews;
  }

  /** The relay holds this record as we do or shall. Returns whether that is news; not when those before it are not covered. */
  raiseBy({ client, clock, encoded }: Struct, doc: Y.Doc): boolean {
    const covered = this.#of(client);
    if (covered.clock !== clock) return false;
    const before = covered.check === undefined ? this.#checkBehind(nothing, doc, client, clock) : covered.check;
    this.#covered.set(client, {
      clock: clock + 1,
      check: before === undefined ? undefined : extendCheck(before, encoded, this.#sha256),
    });
    return true;
  }

  /** The check of the covered records of a client; undefined when it has not been worked out, null when there are none. */
  checkOf(client: number): Uint8Array | null | undefined {
    return this.#of(client).check;
  }

  /** The relay is not known to hold more than `clock` of our records of a client. Returns whether that is news. */
  lower(client: number, clock: number): boolean {
    if (clock >= this.get(client)) return false;
    if (clock === 0) this.#covered.delete(client);
    else this.#covered.set(client, { clock, check: undefined });
    return true;
  }

  /** Takes over the relay's whole vector: a restored relay that holds less lowers the coverage. Returns whether it did. */
  lowerTo(held: ClockVector): boolean {
    let isLowered = false;
    for (const client of [...this.#covered.keys()]) if (this.lower(client, held.get(client) ?? 0)) isLowered = true;
    return isLowered;
  }

  /** Records in `held` that are not covered. */
  countPending(held: ClockVector): number {
    let pending = 0;
    for (const [client, clock] of held) pending += Math.max(0, clock - this.get(client));
    return pending;
  }

  /** The covered clocks, as a copy. */
  clocks(): Map<number, number> {
    return new Map([...this.#covered].map(([client, { clock }]) => [client, clock]));
  }

  #of(client: number): CoveredRecords {
    return this.#covered.get(client) ?? nothing;
  }

  /** Check of a client's first `clock` records, begun where one is known; undefined where something is no record of ours. */
  #checkBehind(known: CoveredRecords, doc: Y.Doc, client: number, clock: number): Uint8Array | null | undefined {
    let { clock: at, check } = known.check !== undefined && known.clock <= clock ? known : nothing;
    for (; at < clock && check !== undefined; at += 1) {
      const held = readHeldRecord(doc, client, at);
      check = held && extendCheck(check, encodeStruct(held), this.#sha256);
    }
    return check;
  }
}

function isEqual(ours: Uint8Array | null | undefined, theirs: Uint8Array): boolean {
  return ours !== undefined && ours !== null && isSameBytes(ours, theirs);
}

/** Writes a coverage down: number of client ids; of each the id, the number of records and their check, or eight zeros. */
export function encodeCoverage(coverage: Coverage): Uint8Array {
  const encoder = createEncoder();
  const clocks = coverage.clocks();
  writeVarUint(encoder, clocks.size);
  for (const [client, clock] of clocks) {
    writeVarUint(encoder, client);
    writeVarUint(encoder, clock);
    writeUint8Array(encoder, coverage.checkOf(client) ?? new Uint8Array(checkBytes));
  }
  return toUint8Array(encoder);
}

/** Reads it back. Data that is not one is as good as none: it costs one question to the relay. */
export function decodeCoverage(bytes: Uint8Array | undefined, sha256?: Sha256): Coverage {
  const coverage = new Coverage(undefined, sha256);
  if (bytes === undefined) return coverage;
  const decoder = createDecoder(bytes);
  try {
    for (let count = readVarUint(decoder); count > 0; count -= 1) {
      const [client, clock] = [readVarUint(decoder), readVarUint(decoder)];
      // lib0 would read on behind the end, into whatever stands there.
      if (bytes.length - decoder.pos < checkBytes) return new Coverage(undefined, sha256);
      const check = readUint8Array(decoder, checkBytes).slice();
      coverage.raise(client, clock, check.every((byte) => byte === 0) ? undefined : check);
    }
    return hasContent(decoder) ? new Coverage(undefined, sha256) : coverage;
  } catch {
    // lib0 throws when the bytes end too early.
    return new Coverage(undefined, sha256);
  }
}
