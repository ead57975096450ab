export type {
  ContextOptions,
  ContextRules,
  EntryProjector,
  EntryTransform,
  SessionContext,
} from "./context-projection.ts";
export {
  buildContextEntries,
  buildSessionContext,
  deriveContextState,
  detectContextRules,
  entryToContextMessages,
} from "./context-projection.ts";
export type {
  ActiveToolsChangeEntry,
  AgentMessageLike,
  BranchSummaryEntry,
  CompactionEntry,
  ContextEditEntry,
  CustomEntry,
  CustomMessageEntry,
  EntryBase,
  Json,
  KnownEntry,
  LabelEntry,
  LeafEntry,
  MessageEntry,
  ModelChangeEntry,
  SessionEntry,
  SessionHeader,
  SessionInfoEntry,
  ThinkingLevelChangeEntry,
  UsageEntry,
} from "./entries.ts";
export type { JsonFault } from "./entry-json.ts";
export { entryToTreeNode, parseEntryJson, parseHeaderJson } from "./entry-json.ts";
export type { Result, SessionErrorCode } from "./errors.ts";
export { SessionError } from "./errors.ts";
export type { IdSource, UuidV7Options } from "./ids.ts";
export { createUuidV7, createUuidV7Source } from "./ids.ts";
export type { InMemorySessionStorageOptions } from "./in-memory-session-storage.ts";
export { InMemorySessionStorage } from "./in-memory-session-storage.ts";
export type { MoveSummary, SessionOptions } from "./session.ts";
export { Session } from "./session.ts";
export type {
  GetEntriesOptions,
  SessionChange,
  SessionMetadata,
  SessionStats,
  SessionStorage,
} from "./session-storage.ts";
export type { InsertResult, TreeNode, TreeStats } from "./session-tree.ts";
export { SessionTree } from "./session-tree.ts";
export { TaskQueue } from "./task-queue.ts";
export type { EntryRecord, ShownRun, TreeSessionStorageOptions } from "./tree-session-storage.ts";
export { entryToRecord, jsonToRecord, TreeSessionStorage } from "./tree-session-storage.ts";
export type { StoredUpdate, UpdateLog, UpdateStore } from "./update-log.ts";
