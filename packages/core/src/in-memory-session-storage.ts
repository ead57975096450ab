import type { SessionEntry } from "./entries.ts";
import { entryToTreeNode } from "./entry-json.ts";
import { type EntryRecord, entryToRecord, jsonToRecord } from "./entry-record.ts";
import { SessionError } from "./errors.ts";
import { createUuidV7 } from "./ids.ts";
import type { SessionMetadata } from "./session-storage.ts";
import type { TreeNode } from "./session-tree.ts";
import { TreeSessionStorage } from "./tree-session-storage.ts";

/** What an in-memory session starts with, and where its ids and times come from. */
export interface InMemorySessionStorageOptions {
  /** Default: a new id, created now. */
  readonly metadata?: SessionMetadata;
  /** Entries of the log so far, in order; the leaf is the effect of the last. They are copied. */
  readonly entries?: readonly SessionEntry[];
  /** The same as exact JSON texts, each on one line; after `entries` when both are given. */
  readonly lines?: readonly string[];
  /** Makes entry ids; default UUIDv7. */
  readonly createId?: () => string;
  /** Milliseconds since 1970; default the system clock. */
  readonly now?: () => number;
}

interface MemoryNode extends TreeNode {
  readonly record: EntryRecord;
}

/** A session in memory: nothing is durable, an append is done when it resolves. */
export class InMemorySessionStorage extends TreeSessionStorage<MemoryNode> {
  /** Throws `invalid_entry` for an entry that is none, `invalid_session` when the last leaf is not among the entries. */
  constructor(options: InMemorySessionStorageOptions = {}) {
    const now = options.now ?? Date.now;
    const metadata = options.metadata ?? { id: createUuidV7({ now }), createdAt: new Date(now()).toISOString() };
    super({ metadata, now, ...(options.createId === undefined ? {} : { createId: options.createId }) });
    this.#showRecords([
      ...(options.entries ?? []).map((entry) => entryToRecord(entry)),
      ...(options.lines ?? []).map((json, index) => jsonToRecord(json, `Line ${index + 1} is no entry`)),
    ]);
    if (this.leafId !== null && !this.tree.has(this.leafId)) {
      throw new SessionError("invalid_session", `Entry ${this.leafId} not found`);
    }
  }

  protected override async writeRecords(records: readonly EntryRecord[]): Promise<void> {
    this.#showRecords(records);
  }

  protected override readJson(node: MemoryNode): string {
    return node.record.json;
  }

  protected override readEntry(node: MemoryNode): SessionEntry {
    return node.record.entry;
  }

  #showRecords(records: readonly EntryRecord[]): void {
    this.show([{ nodes: records.map(recordToNode) }], false);
  }
}

/** Field by field: an object made by a spread and one more field is twice as slow to walk over. */
function recordToNode(record: EntryRecord): MemoryNode {
  const { id, parentId, type, timestamp, role, targetId, label, name } = entryToTreeNode(record.entry);
  return { id, parentId, type, timestamp, role, targetId, label, name, record };
}
