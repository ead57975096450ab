import type { UpdateLog } from "@coppice/core";
import { createDecoder, hasContent, readUint8Array, readVarUint } from "lib0/decoding";
import { createEncoder, toUint8Array, writeUint8Array, writeVarUint } from "lib0/encoding";

/*
 * What others may ask of a room without entering it. It is kept as derived data of the log, so that the question costs
 * one small read and no room is loaded for it.
 */

/** What a room's log holds, in a few numbers. */
export interface LogHead {
  /** The head speaks of what stands in the log up to here. */
  readonly upTo: number;
  /** When the last update was stored, ms since 1970; 0: before anybody noted it. */
  readonly updatedAtMs: number;
  /** Number of structs. */
  readonly records: number;
  /** Size of the stored updates. */
  readonly bytes: number;
  /** Digest of the state vector, 8 bytes. */
  readonly digest: Uint8Array;
}

/** Name of the head among a log's derived data. */
export const logHeadName = "relay-head";

/** Raised when the layout changes; a head of another version is as good as none. */
const headVersion = 1;
const digestBytes = 8;

/** Encodes a head: version, position, time, records, bytes as varuints, and the digest as it is. */
export function encodeLogHead({ upTo, updatedAtMs, records, bytes, digest }: LogHead): Uint8Array {
  const encoder = createEncoder();
  for (const number of [headVersion, upTo, updatedAtMs, records, bytes]) writeVarUint(encoder, number);
  writeUint8Array(encoder, digest);
  return toUint8Array(encoder);
}

/** Reads a head back; undefined when it is of another version or no head. */
export function decodeLogHead(encoded: Uint8Array): LogHead | undefined {
  const decoder = createDecoder(encoded);
  try {
    if (readVarUint(decoder) !== headVersion) return undefined;
    const [upTo, updatedAtMs] = [readVarUint(decoder), readVarUint(decoder)];
    const [records, bytes] = [readVarUint(decoder), readVarUint(decoder)];
    // lib0 would read on behind the end, into whatever stands there.
    if (decoder.arr.length - decoder.pos < digestBytes) return undefined;
    const digest = readUint8Array(decoder, digestBytes).slice();
    return hasContent(decoder) ? undefined : { upTo, updatedAtMs, records, bytes, digest };
  } catch {
    // lib0 throws when the bytes end too early: no head of ours.
    return undefined;
  }
}

/** The head kept with a log, however old it is. Rejects when the log cannot be read. */
export async function readLogHead(log: UpdateLog): Promise<LogHead | undefined> {
  const encoded = await log.readDerived(logHeadName);
  return encoded && decodeLogHead(encoded);
}

/** A log's head, when the one that is kept speaks of all there is. Rejects when the log cannot be read. */
export async function readCurrentLogHead(log: UpdateLog): Promise<LogHead | undefined> {
  const head = await readLogHead(log);
  return head?.upTo === log.lastSeq() ? head : undefined;
}
