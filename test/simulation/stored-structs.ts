import type { StoredUpdate } from "@coppice/core";
import { parseUpdate, type Struct, type UpdateLimits } from "@coppice/wire";

const unlimited: UpdateLimits = {
  maxStructs: Number.MAX_SAFE_INTEGER,
  maxClients: Number.MAX_SAFE_INTEGER,
  maxRecordBytes: Number.MAX_SAFE_INTEGER,
};

/** The structs of an update, which must keep to the grammar. */
export function readStructs(update: Uint8Array): readonly Struct[] {
  const parsed = parseUpdate(update, unlimited);
  if (!parsed.ok) throw new Error(`An update breaks the grammar: ${parsed.error}`);
  return parsed.value.structs;
}

/** Which records are durable on a disk, log by log: the simulation's own account of it. */
export class StoredStructs {
  readonly #byLog = new Map<string, Map<string, Struct>>();

  add(log: string, updates: readonly StoredUpdate[]): void {
    const held = this.#of(log);
    for (const { update } of updates) for (const struct of readStructs(update)) held.set(keyOf(struct), struct);
  }

  /** Takes a log anew, after something of it was replaced. */
  reset(log: string, updates: readonly StoredUpdate[]): void {
    this.#byLog.delete(log);
    this.add(log, updates);
  }

  /** The first record of an update that stands on one which is neither here nor in the update itself. */
  findUnfounded(log: string, update: Uint8Array): string | undefined {
    const structs = readStructs(update);
    const known = new Set(structs.map(keyOf));
    const isKnown = (client: number, clock: number): boolean =>
      known.has(`${client}:${clock}`) || this.hasClock(log, client, clock);
    const unfounded = structs.find(
      ({ client, clock, origin }) =>
        (clock > 0 && !isKnown(client, clock - 1)) || (origin !== null && !isKnown(origin.client, origin.clock)),
    );
    return unfounded && keyOf(unfounded);
  }

  has(log: string, struct: Struct): boolean {
    const held = this.#of(log).get(keyOf(struct));
    return held !== undefined && Buffer.compare(held.encoded, struct.encoded) === 0;
  }

  hasClock(log: string, client: number, clock: number): boolean {
    return this.#of(log).has(`${client}:${clock}`);
  }

  /** Keys (`client:clock`) of a log's records. */
  keys(log: string): Iterable<string> {
    return this.#of(log).keys();
  }

  /** A log's records, each place once. */
  structs(log: string): Iterable<Struct> {
    return this.#of(log).values();
  }

  clear(): void {
    this.#byLog.clear();
  }

  #of(log: string): Map<string, Struct> {
    let held = this.#byLog.get(log);
    if (held === undefined) {
      held = new Map();
      this.#byLog.set(log, held);
    }
    return held;
  }
}

const keyOf = ({ client, clock }: Struct): string => `${client}:${clock}`;
