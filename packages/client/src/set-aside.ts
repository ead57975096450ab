import { createNewerVersionError, type UpdateLog } from "@coppice/core";
import type { LogRecord } from "@coppice/storage-yjs";
import { chunkStructs, encodeUpdate, type Struct } from "@coppice/wire";
import * as Y from "yjs";
import { type ClockVector, isSameBytes, readHeldClocks } from "./held-records.ts";
import { parseLocalUpdate, readLocalStructs } from "./upload-structs.ts";

/*
 * Records of ours whose places somebody else has taken at the relay are set aside: written down as they are, with their
 * places, under the device's own values; taken out of the local log; and written again at other places by who can open
 * them. A kill at any point in between finds the value, and does again what may not have been done.
 */

/** First byte of the value. A later version's is left alone. */
const formatVersion = 1;

/** A document's records, and those of them that have to give way. */
export interface SplitStructs {
  /** Each after what it builds on, as are the others. */
  readonly kept: readonly Struct[];
  readonly removed: readonly Struct[];
}

/**
 * Takes out of a document's records those from the given clocks on, and all that stand behind them: where they point to
 * there will be somebody else's record, or none.
 */
export function splitStructs(doc: Y.Doc, from: ClockVector): SplitStructs {
  const held = readHeldClocks(doc);
  const removedFrom = new Map(from);
  const isRemoved = (client: number, clock: number): boolean =>
    clock >= (removedFrom.get(client) ?? Number.POSITIVE_INFINITY);
  const kept: Struct[] = [];
  const removed: Struct[] = [];
  for (const struct of readLocalStructs(Y.encodeStateAsUpdate(doc))) {
    const { client, clock, origin } = struct;
    // What waits for others is no record of the document; it comes again.
    if (clock >= (held.get(client) ?? 0)) continue;
    if (!isRemoved(client, clock) && (origin === null || !isRemoved(origin.client, origin.clock))) {
      kept.push(struct);
      continue;
    }
    if (!isRemoved(client, clock)) removedFrom.set(client, clock);
    removed.push(struct);
  }
  return { kept, removed };
}

/** A new document of these records, under a client id that nobody is known to use. */
export function createDoc(structs: readonly Struct[], isUsed: (client: number) => boolean): Y.Doc {
  let doc = new Y.Doc();
  while (isUsed(doc.clientID)) doc = new Y.Doc();
  for (const { update } of chunkStructs(structs)) Y.applyUpdate(doc, update);
  return doc;
}

/** Writes records down. */
export function encodeSetAside(structs: readonly Struct[]): Uint8Array {
  const update = encodeUpdate([...structs].sort((left, right) => left.clock - right.clock));
  const bytes = new Uint8Array(1 + update.length);
  bytes[0] = formatVersion;
  bytes.set(update, 1);
  return bytes;
}

/** Reads them back, each after what it builds on. Throws `version_mismatch` for what a later version wrote. */
export function decodeSetAside(bytes: Uint8Array | undefined): readonly Struct[] {
  if (bytes === undefined) return [];
  if (bytes[0] !== formatVersion) throw createNewerVersionError("What was set aside of a room");
  return readLocalStructs(bytes.subarray(1));
}

/** The records of two lists, each place once. */
export function joinSetAside(first: readonly Struct[], second: readonly Struct[]): readonly Struct[] {
  const known = new Set(first.map(placeKey));
  return [...first, ...second.filter((struct) => !known.has(placeKey(struct)))];
}

/** The first clock of each client id. */
export function findFirstClocks(structs: readonly Struct[]): Map<number, number> {
  const clocks = new Map<number, number>();
  for (const { client, clock } of structs) clocks.set(client, Math.min(clock, clocks.get(client) ?? clock));
  return clocks;
}

/** Records as who opens them needs them. */
export function toLogRecords(structs: readonly Struct[]): LogRecord[] {
  return structs.map(({ client, clock, record }) => ({ clientId: client, clock, bytes: record }));
}

/** Of these records, those that are in a list. */
export function pickStructs(structs: readonly Struct[], records: readonly LogRecord[]): readonly Struct[] {
  const wanted = new Set(records.map(({ clientId, clock }) => placeKey({ client: clientId, clock })));
  return structs.filter((struct) => wanted.has(placeKey(struct)));
}

/** An update without these records; undefined when nothing is left, or when it is not of our grammar. */
export function leaveOut(update: Uint8Array, structs: readonly Struct[]): Uint8Array | undefined {
  const removed = new Set(structs.map(placeKey));
  const parsed = parseLocalUpdate(update);
  if (!parsed.ok) return undefined;
  const kept = parsed.value.structs.filter((struct) => !removed.has(placeKey(struct)));
  return kept.length === 0 ? undefined : encodeUpdate(kept);
}

/**
 * Takes these very records out of a log, update by update; each step is atomic and may be repeated. Others that
 * meanwhile stand at their places stay.
 */
export async function removeFromLog(log: UpdateLog, structs: readonly Struct[]): Promise<void> {
  const removed = new Map(structs.map((struct) => [placeKey(struct), struct]));
  for await (const { seq, update } of log.read()) {
    const parsed = parseLocalUpdate(update);
    // Not of our grammar: then these records are not in it.
    if (!parsed.ok) continue;
    const kept = parsed.value.structs.filter((struct) => {
      const other = removed.get(placeKey(struct));
      return other === undefined || !isSameBytes(other.encoded, struct.encoded);
    });
    if (kept.length < parsed.value.structs.length) await log.replaceRange(seq, seq, encodeUpdate(kept));
  }
}

function placeKey({ client, clock }: { readonly client: number; readonly clock: number }): string {
  return `${client}:${clock}`;
}
