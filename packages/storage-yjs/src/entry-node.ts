import { type EntryRecord, entryToTreeNode, type SessionEntry, type TreeNode } from "@coppice/core";
import type { RecordProblem } from "./record-codec.ts";
import type { RecordFields, RecordHeader } from "./record-header.ts";
import type { LogRecord } from "./record-log.ts";

/** An entry of the index: what the tree needs, who wrote it, and the record its payload is read from. */
export interface EntryNode extends TreeNode {
  readonly rank: number;
  readonly deviceId: string;
  readonly header: RecordHeader;
  readonly record: LogRecord;
}

/** The index fields of an entry that is about to be written. */
export function entryToFields({ entry }: EntryRecord, deviceId: string, n: number): RecordFields {
  const { id, parentId, type, timestamp, targetId, label, name } = entryToTreeNode(entry);
  const role = entry.type === "message" && typeof entry.message?.role === "string" ? entry.message.role : undefined;
  return { id, parentId, type, timestamp, deviceId, n, role, targetId, label, sessionName: name };
}

/** The index entry of a record whose header has been opened. */
export function headerToNode(header: RecordHeader, record: LogRecord): EntryNode {
  const { id, parentId, type, timestamp, deviceId, n, targetId } = header;
  const label = header.label ?? undefined;
  const name = header.sessionName ?? undefined;
  return { id, parentId, type, timestamp, targetId, label, name, rank: n, deviceId, header, record };
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
