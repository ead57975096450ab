import { type AckPair, extendCheck, parseUpdate } from "@coppice/wire";
import { sha256 } from "@noble/hashes/sha2.js";
import * as Y from "yjs";

/** What a relay that holds a document's records says of the first `clock` of a client id. */
export function pairOf(doc: Y.Doc, client: number, clock: number): AckPair {
  const parsed = parseUpdate(Y.encodeStateAsUpdate(doc));
  const structs = parsed.ok ? parsed.value.structs.filter((struct) => struct.client === client) : [];
  const check = structs
    .slice(0, clock)
    .reduce<Uint8Array | null>((before, { encoded }) => extendCheck(before, encoded, sha256), null);
  return { client, clock, check };
}
