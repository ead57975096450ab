import { type EntryRecord, entryToTreeNode, type SessionEntry, type TreeNode } from "@coppice/core";
import type { RecordProblem } from "./record-codec.ts";
import type { RecordFields, RecordHeader } from "./record-header.ts";
import type { LogRecord } from "./record-log.ts";

/** What the index knows of an entry beside its record. */
export type EntryNodeFields = Pick<
  EntryNode,
  | "id"
  | "parentId"
  | "type"
  | "timestamp"
  | "deviceId"
  | "rank"
  | "jsonBytes"
  | "storedBytes"
  | "role"
  | "targetId"
  | "label"
  | "name"
>;

/**
 * An entry of the index: what the tree needs, who wrote it, and the record its payload is read from. A class, because
 * there are as many as entries and objects of one shape are small and quick.
 */
export class EntryNode implements TreeNode {
  readonly id: string;
  readonly parentId: string | null;
  readonly type: string;
  readonly timestamp: string;
  /** Device that wrote the record. */
  readonly deviceId: string;
  readonly rank: number;
  /** As in the record's header: what opening the payload needs. */
  readonly jsonBytes: number;
  readonly storedBytes: number;
  readonly role: string | undefined;
  readonly targetId: string | null | undefined;
  readonly label: string | undefined;
  readonly name: string | undefined;
  readonly record: LogRecord;

  constructor(fields: EntryNodeFields, record: LogRecord) {
    this.id = fields.id;
    this.parentId = fields.parentId;
    this.type = fields.type;
    this.timestamp = fields.timestamp;
    this.deviceId = fields.deviceId;
    this.rank = fields.rank;
    this.jsonBytes = fields.jsonBytes;
    this.storedBytes = fields.storedBytes;
    this.role = fields.role;
    this.targetId = fields.targetId;
    this.label = fields.label;
    this.name = fields.name;
    this.record = record;
  }
}

/** The index fields of an entry that is about to be written. */
export function entryToFields({ entry }: EntryRecord, deviceId: string, n: number): RecordFields {
  const { id, parentId, type, timestamp, role, targetId, label, name } = entryToTreeNode(entry);
  return { id, parentId, type, timestamp, deviceId, n, role, targetId, label, sessionName: name };
}

/** The index entry of a record whose header has been opened. Field by field: a spread costs as much as decoding. */
export function headerToNode(header: RecordHeader, record: LogRecord): EntryNode {
  return new EntryNode(
    {
      id: header.id,
      parentId: header.parentId,
      type: header.type,
      timestamp: header.timestamp,
      deviceId: header.deviceId,
      rank: header.n,
      jsonBytes: header.jsonBytes,
      storedBytes: header.storedBytes,
      role: header.role ?? undefined,
      targetId: header.targetId,
      label: header.label ?? undefined,
      name: header.sessionName ?? undefined,
    },
    record,
  );
}

/**
 * What is shown in place of an entry whose payload does not open: it stays where it is in the tree, has a type nobody
 * knows, so contexts leave it out, and says what it was and why it cannot be read.
 */
export function createUnreadableEntry(node: EntryNode, problem: RecordProblem): SessionEntry {
  const { id, parentId, timestamp } = node;
  const entry = { type: "unreadable", id, parentId, timestamp, recordType: node.type, problem };
  // Entries of unknown types are part of every log; the union names only the known ones.
  return entry as unknown as SessionEntry;
}
