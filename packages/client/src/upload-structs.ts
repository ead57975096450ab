import { SessionError } from "@coppice/core";
import { chunkStructs, orderStructs, parseUpdate, type Struct, type UpdateLimits } from "@coppice/wire";
import type * as Y from "yjs";
import { type ClockVector, readHeldClocks } from "./held-records.ts";

/** The local document is trusted to be well-formed; only its size is without bound. */
const localLimits: UpdateLimits = {
  maxStructs: Number.MAX_SAFE_INTEGER,
  maxClients: Number.MAX_SAFE_INTEGER,
  maxRecordBytes: Number.MAX_SAFE_INTEGER,
};

/**
 * Reads an update of the local document into its structs, each after what it builds on. Throws `invalid_session` for
 * what no replica of ours writes.
 */
export function readLocalStructs(update: Uint8Array): readonly Struct[] {
  const parsed = parseUpdate(update, localLimits);
  if (!parsed.ok) throw new SessionError("invalid_session", `The local document cannot be sent: ${parsed.error}.`);
  const ordered = orderStructs(parsed.value.structs);
  if (!ordered.ok)
    throw new SessionError("invalid_session", "The local document cannot be sent: its records wait for each other.");
  return ordered.value;
}

/**
 * The structs of an update that may leave this device, as updates of a size the relay takes, parents first. Records
 * that are not durable here yet are left out, and so are those that wait for others in the document: Yjs encodes them
 * too, but they came from the relay and are not ours to vouch for.
 */
export function* chunkUpload(
  update: Uint8Array,
  { doc, unsaved, isWanted }: { doc: Y.Doc; unsaved: ClockVector; isWanted: (struct: Struct) => boolean },
): Generator<Uint8Array> {
  const parsed = parseUpdate(update, localLimits);
  if (!parsed.ok) throw new SessionError("invalid_session", `The local document cannot be sent: ${parsed.error}.`);
  const held = readHeldClocks(doc);
  const structs = parsed.value.structs.filter(
    (struct) =>
      isWanted(struct) &&
      struct.clock < (held.get(struct.client) ?? 0) &&
      struct.clock < (unsaved.get(struct.client) ?? Number.POSITIVE_INFINITY),
  );
  const ordered = orderStructs(structs);
  if (!ordered.ok)
    throw new SessionError("invalid_session", "The local document cannot be sent: its records wait for each other.");
  for (const { update: chunk } of chunkStructs(ordered.value)) yield chunk;
}
