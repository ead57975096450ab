import type { TreeNode } from "@coppice/core";
import * as Y from "yjs";
import { RecordCodec } from "../../src/record-codec.ts";
import type { RoomKeys } from "../../src/room-keys.ts";
import { unwrap } from "../helpers.ts";

/** A record as a slow, plain reading of the doc gives it. */
export interface OracleNode extends TreeNode {
  readonly rank: number;
  readonly deviceId: string;
  readonly json: string;
}

/** The log of a doc: entries in their order, and how many records there are, headers counted. */
export interface OracleLog {
  readonly nodes: readonly OracleNode[];
  readonly recordCount: number;
}

/**
 * Reads docs without the index: every element of the array in order, by the record codec alone. A record is opened
 * once for all docs, and must be the same bytes wherever it is met again.
 */
export class RecordOracle {
  readonly #codec: RecordCodec;
  readonly #openedByPlace = new Map<string, { bytes: Uint8Array; node: OracleNode | undefined }>();

  constructor(sessionId: string, keys: RoomKeys | undefined) {
    this.#codec = new RecordCodec({ sessionId, keys });
  }

  read(doc: Y.Doc): OracleLog {
    const nodes: OracleNode[] = [];
    let recordCount = 0;
    for (let item = doc.getArray("entries")._start; item !== null; item = item.right) {
      const node = this.#open(item);
      if (node !== undefined) nodes.push(node);
      recordCount++;
    }
    return { nodes, recordCount };
  }

  /** Undefined for a header. Throws when a record is no bytes, does not open, or differs from what stood there before. */
  #open({ id, content }: Y.Item): OracleNode | undefined {
    if (!(content instanceof Y.ContentBinary)) throw new Error(`${id.client}/${id.clock} is no record`);
    const bytes = content.content;
    const place = `${id.client}/${id.clock}`;
    const opened = this.#openedByPlace.get(place);
    if (opened !== undefined) {
      if (Buffer.compare(opened.bytes, bytes) !== 0) throw new Error(`Two records stand at ${place}`);
      return opened.node;
    }
    const at = { clientId: id.client, clock: id.clock };
    const header = unwrap(this.#codec.openHeader(bytes, at));
    const json = unwrap(this.#codec.openPayload(bytes, at, header));
    const { n: rank, role, label, sessionName, ...fields } = header;
    const node = {
      ...fields,
      role: role ?? undefined,
      label: label ?? undefined,
      name: sessionName ?? undefined,
      rank,
      json,
    };
    const shown = header.type === "session" ? undefined : node;
    this.#openedByPlace.set(place, { bytes, node: shown });
    return shown;
  }
}

/** Where a device that is new to a log starts: at the effect of the last record of all that leads somewhere. */
export function newcomerLeafOf({ nodes, recordCount }: OracleLog): string | null {
  const ids = new Set(nodes.map(({ id }) => id));
  let last: { rank: number; effect: string | null } | undefined;
  for (const node of nodes) {
    const effect = node.type === "leaf" ? (node.targetId ?? null) : node.id;
    const rank = node.rank <= recordCount ? node.rank : 0;
    if ((effect === null || ids.has(effect)) && rank >= (last?.rank ?? 0)) last = { rank, effect };
  }
  return last?.effect ?? null;
}
