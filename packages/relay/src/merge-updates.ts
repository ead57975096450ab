import type { StoredUpdate, UpdateLog } from "@coppice/core";
import { encodeUpdate, maxChunkBytes, maxClientsPerUpdate, orderStructs, type Struct } from "@coppice/wire";
import { parseStoredUpdate } from "./log-slice.ts";
import { fullBytes, type MergeRange, type StoredSize } from "./plan-merge.ts";
import { TurnBudget } from "./turn-budget.ts";

/**
 * Structs of one merged update. What is written, or read back and compared, in one turn of the event loop is bounded by
 * this: 4,096 took up to 56 ms of CPU time in code that had not been compiled yet.
 */
export const maxMergedStructs = 2_048;

/** What became of a range. */
export interface MergeResult {
  /** The range that was looked at; it may be shorter than the one asked for. */
  readonly range: MergeRange;
  /** What stands in that range now, for planning: what cannot be merged counts as full, so that it is not tried for ever. */
  readonly stored: readonly StoredSize[];
  readonly isMerged: boolean;
}

/** Position at which a room holds a struct; undefined when it does not. */
export type SeqOf = (client: number, clock: number) => number | undefined;

/**
 * Merges neighbouring stored updates into one, at the position of the last of them. The merged update is read back and
 * must hold exactly the same structs in an order that can be applied, or nothing is changed. An update that is damaged,
 * or holds what the room does not hold from it, is left as it is; those before it are merged without it.
 *
 * Rejects when the log could not be read or written.
 */
export async function mergeUpdates(log: UpdateLog, asked: MergeRange, seqOf: SeqOf): Promise<MergeResult> {
  const budget = new TurnBudget();
  const part = new MergePart(asked.from, seqOf);
  let cutAt: StoredSize | undefined;
  for await (const update of readRange(log, asked)) {
    if (!part.add(update)) {
      cutAt = { seq: update.seq, bytes: Math.max(update.update.length, fullBytes) };
      break;
    }
    await budget.spend();
  }
  const { stored, structs } = part;
  const last = stored.at(-1);
  if (last === undefined || stored.length < 2) {
    const found = cutAt === undefined ? stored : [...stored, cutAt];
    return { range: { from: asked.from, to: cutAt?.seq ?? asked.to }, stored: found, isMerged: false };
  }
  const range = cutAt === undefined ? asked : { from: asked.from, to: last.seq };
  const merged = encodeUpdate(structs);
  await budget.spend();
  if (!isSameContent(merged, structs)) {
    return { range, stored: stored.map(({ seq }) => ({ seq, bytes: fullBytes })), isMerged: false };
  }
  await budget.spend();
  await log.replaceRange(asked.from, last.seq, merged);
  // One with its full number of structs is left alone from now on, however small.
  const isFull = structs.length > maxMergedStructs / 2;
  const bytes = isFull ? Math.max(merged.length, fullBytes) : merged.length;
  return { range, stored: [{ seq: last.seq, bytes }], isMerged: true };
}

async function* readRange(log: UpdateLog, { from, to }: MergeRange): AsyncGenerator<StoredUpdate> {
  for await (const update of log.read(from - 1)) {
    if (update.seq > to) return;
    yield update;
    if (update.seq === to) return;
  }
}

/** The updates collected for one merged update, as long as they fit into it. */
class MergePart {
  readonly stored: StoredSize[] = [];
  readonly structs: Struct[] = [];
  readonly #from: number;
  readonly #seqOf: SeqOf;
  readonly #clients = new Set<number>();
  #bytes = 0;

  constructor(from: number, seqOf: SeqOf) {
    this.#from = from;
    this.#seqOf = seqOf;
  }

  /** False when this update cannot be merged with those before it. */
  add({ seq, update }: StoredUpdate): boolean {
    const first = (this.stored.at(-1)?.seq ?? this.#from - 1) + 1;
    const structs = parseStoredUpdate(update)?.structs;
    const isHeldFromHere = ({ client, clock }: Struct): boolean => {
      const indexedSeq = this.#seqOf(client, clock);
      return indexedSeq !== undefined && indexedSeq >= first && indexedSeq <= seq;
    };
    if (structs === undefined || !structs.every(isHeldFromHere)) return false;
    const clients = new Set(structs.map(({ client }) => client));
    for (const client of this.#clients) clients.add(client);
    const isFitting =
      this.#bytes + update.length <= maxChunkBytes &&
      this.structs.length + structs.length <= maxMergedStructs &&
      clients.size <= maxClientsPerUpdate;
    const ordered = orderStructs(structs);
    if (!isFitting || !ordered.ok) return false;
    this.stored.push({ seq, bytes: update.length });
    for (const struct of ordered.value) this.structs.push(struct);
    for (const client of clients) this.#clients.add(client);
    this.#bytes += update.length;
    return true;
  }
}

function isSameContent(merged: Uint8Array, structs: readonly Struct[]): boolean {
  const parsed = parseStoredUpdate(merged);
  if (parsed === undefined || parsed.hasSkip || parsed.structs.length !== structs.length) return false;
  const expected = new Map(structs.map((struct) => [`${struct.client}:${struct.clock}`, struct.encoded]));
  for (const { client, clock, encoded } of parsed.structs) {
    const bytes = expected.get(`${client}:${clock}`);
    if (bytes === undefined || Buffer.compare(bytes, encoded) !== 0) return false;
  }
  return expected.size === structs.length && orderStructs(parsed.structs).ok;
}
