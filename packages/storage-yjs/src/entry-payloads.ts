import { parseEntryJson, type Result, type SessionEntry, SessionError } from "@coppice/core";
import { createUnreadableEntry, type EntryNode } from "./entry-node.ts";
import { PayloadCache } from "./payload-cache.ts";
import { isNewer, type RecordCodec, type RecordProblem } from "./record-codec.ts";

/** JSON text of opened payloads that is kept, in bytes: a context of some thousand entries. */
const MAX_CACHED_BYTES = 16 * 1024 * 1024;

/** Opens the payloads of entries when somebody asks for them, and keeps those asked for last. */
export class EntryPayloads {
  readonly #codec: RecordCodec;
  readonly #copiesOf: (node: EntryNode) => readonly EntryNode[];
  readonly #cache = new PayloadCache<EntryNode, SessionEntry>(MAX_CACHED_BYTES);

  /** `copiesOf` gives all records with the id of a node, in log order; it may be empty when the node is the only one. */
  constructor(codec: RecordCodec, copiesOf: (node: EntryNode) => readonly EntryNode[]) {
    this.#codec = codec;
    this.#copiesOf = copiesOf;
  }

  /** The exact JSON text in a node's own record. */
  open(node: EntryNode): Result<string, RecordProblem> {
    return this.#codec.openPayload(node.record.bytes, node.record, node);
  }

  /** Whether this very record opens and holds this text. */
  isText(node: EntryNode, json: string): boolean {
    const payload = this.open(node);
    return payload.ok && payload.value === json;
  }

  /** The text in a node's own record. Throws `invalid_entry`, or `version_mismatch` for what a later version wrote. */
  readJson(node: EntryNode): string {
    return valueOrThrow(node, this.open(node));
  }

  /** The text of an entry: of its shown record or, when that does not open, of its first copy that does. Throws as `readJson`. */
  readFirstJson(node: EntryNode): string {
    return valueOrThrow(node, this.#openFirstCopy(node));
  }

  /** The entry of a shown node; one of type `unreadable` when no record of it opens. */
  readEntry(node: EntryNode): SessionEntry {
    const cached = this.#cache.get(node);
    if (cached !== undefined) return cached;
    const payload = this.#openFirstCopy(node);
    const entry = payload.ok ? parseEntryOf(node, payload.value) : undefined;
    if (entry === undefined) return createUnreadableEntry(node, payload.ok ? "malformed" : payload.error);
    this.keep(node, entry);
    return entry;
  }

  /** Keeps an entry that is known already, as one just written. */
  keep(node: EntryNode, entry: SessionEntry): void {
    this.#cache.set(node, entry, node.jsonBytes);
  }

  #openFirstCopy(node: EntryNode): Result<string, RecordProblem> {
    const payload = this.open(node);
    if (payload.ok) return payload;
    for (const copy of this.#copiesOf(node)) {
      const opened = this.open(copy);
      if (opened.ok && parseEntryOf(node, opened.value) !== undefined) return opened;
    }
    return payload;
  }
}

function valueOrThrow(node: EntryNode, payload: Result<string, RecordProblem>): string {
  if (payload.ok) return payload.value;
  throw new SessionError(
    isNewer(payload.error) ? "version_mismatch" : "invalid_entry",
    `The content of entry ${node.id} cannot be read: ${payload.error}`,
  );
}

/** The entry in a payload, if it is the one its header speaks of. Otherwise some other program wrote the record. */
function parseEntryOf(node: EntryNode, json: string): SessionEntry | undefined {
  const parsed = parseEntryJson(json);
  if (!parsed.ok) return undefined;
  const { id, parentId, type } = parsed.value;
  return id === node.id && parentId === node.parentId && type === node.type ? parsed.value : undefined;
}
