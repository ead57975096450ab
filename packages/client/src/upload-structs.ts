import { type Result, SessionError } from "@coppice/core";
import {
  chunkStructs,
  orderStructs,
  type ParsedUpdate,
  parseUpdate,
  type Struct,
  type StructId,
  type UpdateLimits,
  type UpdateOffence,
} from "@coppice/wire";
import type * as Y from "yjs";
import { type ClockVector, readHeldClocks } from "./held-records.ts";

/** What is stored here is trusted to be well-formed; only its size is without bound. */
const localLimits: UpdateLimits = {
  maxStructs: Number.MAX_SAFE_INTEGER,
  maxClients: Number.MAX_SAFE_INTEGER,
  maxRecordBytes: Number.MAX_SAFE_INTEGER,
};

/** Parses an update that comes from this device, of whatever size. */
export function parseLocalUpdate(update: Uint8Array): Result<ParsedUpdate, UpdateOffence> {
  return parseUpdate(update, localLimits);
}

/**
 * Reads an update of the local document into its structs, those that pass, each after what it builds on. Throws
 * `invalid_session` for what no replica of ours writes.
 */
export function readLocalStructs(
  update: Uint8Array,
  passes: (struct: Struct) => boolean = () => true,
): readonly Struct[] {
  const parsed = parseLocalUpdate(update);
  if (!parsed.ok) throw new SessionError("invalid_session", `The local document cannot be read: ${parsed.error}.`);
  const ordered = orderStructs(parsed.value.structs.filter(passes));
  if (!ordered.ok)
    throw new SessionError("invalid_session", "The local document cannot be read: its records wait for each other.");
  return ordered.value;
}

/** What decides whether a record may leave this device. */
export interface UploadRules {
  readonly doc: Y.Doc;
  /** First clock that is not durable here, by client id. */
  readonly unsaved: ClockVector;
  readonly isWanted: (struct: Struct) => boolean;
  /** First clock of a client id at which nobody has compared the relay's records with ours; infinite: none. */
  readonly doubtfulFrom: (client: number) => number;
}

/** What of an update may be sent now. */
export interface Upload {
  /** Of a size the relay takes, parents first; encoded one by one. */
  readonly chunks: Iterable<Uint8Array>;
  /** Whether records wait for a comparison: their own places, or those they stand behind, may be somebody else's. */
  readonly isHeldBack: boolean;
}

/**
 * Picks what may leave this device. Not what is not durable here yet, not what stands behind doubtful records, and not
 * records that wait for others in the document: Yjs encodes them too, but they came from the relay and are not ours to
 * vouch for.
 */
export function planUpload(update: Uint8Array, { doc, unsaved, isWanted, doubtfulFrom }: UploadRules): Upload {
  const held = readHeldClocks(doc);
  const heldBackFrom = new Map<number, number>();
  const isHeldBack = ({ client, clock }: StructId): boolean =>
    clock >= Math.min(doubtfulFrom(client), heldBackFrom.get(client) ?? Number.POSITIVE_INFINITY);
  const ordered = readLocalStructs(
    update,
    (struct) =>
      isWanted(struct) &&
      struct.clock < (held.get(struct.client) ?? 0) &&
      struct.clock < (unsaved.get(struct.client) ?? Number.POSITIVE_INFINITY),
  );
  const free = ordered.filter((struct) => {
    if (!isHeldBack(struct) && (struct.origin === null || !isHeldBack(struct.origin))) return true;
    if (!heldBackFrom.has(struct.client)) heldBackFrom.set(struct.client, struct.clock);
    return false;
  });
  return { chunks: encodeChunks(free), isHeldBack: free.length < ordered.length };
}

function* encodeChunks(structs: readonly Struct[]): Generator<Uint8Array> {
  for (const { update } of chunkStructs(structs)) yield update;
}
