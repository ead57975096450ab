import type { UpdateLog } from "@coppice/core";
import { createDecoder, hasContent, readUint8Array, readVarUint } from "lib0/decoding";
import { createEncoder, toUint8Array, writeUint8Array, writeVarUint } from "lib0/encoding";
import type { StoredSize } from "./plan-merge.ts";
import { RoomIndex } from "./room-index.ts";

/** Name of the snapshot among a log's derived data. */
export const indexSnapshotName = "relay-index";

/** Raised when the layout changes; a snapshot of another version is as good as none. */
const snapshotVersion = 4;

const checkBytes = 8;

/** A room's index as it was at a position of its log. */
export interface IndexSnapshot {
  readonly index: RoomIndex;
  /** The index holds what stands in the log up to here. */
  readonly upTo: number;
  /** Sizes of the stored updates up to there, in order. */
  readonly sizes: readonly StoredSize[];
}

/**
 * Encodes an index, so that a large room need not be read as a whole before its first answer. Version, position,
 * number of clients; per client its id, number of structs, their check (8 raw bytes), number of stored updates, and of each of those the
 * differences of first clock and position to the one before; then the number of stored updates, and of each the
 * difference of its position to the one before, and its bytes. Varuints otherwise: a byte or two per number in a busy log.
 */
export function encodeIndexSnapshot({ index, upTo, sizes }: IndexSnapshot): Uint8Array {
  const encoder = createEncoder();
  writeVarUint(encoder, snapshotVersion);
  writeVarUint(encoder, upTo);
  writeVarUint(encoder, index.clientCount);
  for (const { client, held, check, clocks, seqs } of index.entries()) {
    writeVarUint(encoder, client);
    writeVarUint(encoder, held);
    writeUint8Array(encoder, check ?? new Uint8Array(checkBytes));
    writeVarUint(encoder, seqs.length);
    for (let i = 0; i < seqs.length; i += 1) {
      writeVarUint(encoder, (clocks[i] as number) - (clocks[i - 1] ?? 0));
      writeVarUint(encoder, (seqs[i] as number) - (seqs[i - 1] ?? 0));
    }
  }
  writeVarUint(encoder, sizes.length);
  let before = 0;
  for (const { seq, bytes } of sizes) {
    writeVarUint(encoder, seq - before);
    writeVarUint(encoder, bytes);
    before = seq;
  }
  return toUint8Array(encoder);
}

/** Reads a snapshot back; undefined when it is of another version or no snapshot, and then the log is read instead. */
export function decodeIndexSnapshot(bytes: Uint8Array): IndexSnapshot | undefined {
  const decoder = createDecoder(bytes);
  try {
    if (readVarUint(decoder) !== snapshotVersion) return undefined;
    const upTo = readVarUint(decoder);
    const index = new RoomIndex();
    const clientCount = readVarUint(decoder);
    for (let i = 0; i < clientCount; i += 1) {
      const client = readVarUint(decoder);
      const held = readVarUint(decoder);
      // lib0 would read on behind the end, into whatever stands there.
      if (decoder.arr.length - decoder.pos < checkBytes) return undefined;
      const check = readUint8Array(decoder, checkBytes).slice();
      const count = readVarUint(decoder);
      const clocks: number[] = [];
      const seqs: number[] = [];
      for (let j = 0; j < count; j += 1) {
        clocks.push(readVarUint(decoder) + (clocks[j - 1] ?? 0));
        seqs.push(readVarUint(decoder) + (seqs[j - 1] ?? 0));
      }
      if (clocks.length === 0 || clocks[0] !== 0 || (seqs.at(-1) as number) > upTo) return undefined;
      index.restore(client, { held, check, clocks, seqs });
    }
    const sizes: StoredSize[] = [];
    const sizeCount = readVarUint(decoder);
    for (let i = 0; i < sizeCount; i += 1) {
      sizes.push({ seq: readVarUint(decoder) + (sizes.at(-1)?.seq ?? 0), bytes: readVarUint(decoder) });
    }
    return hasContent(decoder) ? undefined : { index, upTo, sizes };
  } catch {
    // lib0 throws when the bytes end too early: no snapshot of ours.
    return undefined;
  }
}

/** The snapshot kept with a log; an empty one when there is none that fits. Rejects when the log cannot be read. */
export async function readIndexSnapshot(log: UpdateLog): Promise<IndexSnapshot> {
  const bytes = await log.readDerived(indexSnapshotName);
  const snapshot = bytes === undefined ? undefined : decodeIndexSnapshot(bytes);
  // A snapshot of more than there is belongs to another log.
  if (snapshot === undefined || snapshot.upTo > log.lastSeq()) return { index: new RoomIndex(), upTo: 0, sizes: [] };
  return snapshot;
}
