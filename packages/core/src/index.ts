// The contract everybody implements.

export type { Result, SessionErrorCode } from "./errors.ts";
export { createNewerVersionError, SessionError } from "./errors.ts";
export type {
  BatchOptions,
  BatchProgress,
  BatchResult,
  GetEntriesOptions,
  IdConflict,
  RefusedLine,
  SessionChange,
  SessionMetadata,
  SessionStats,
  SessionStorage,
} from "./session-storage.ts";
export type { ContractErrorCode, SessionErrorClass } from "./with-error-class.ts";
export { withErrorClass } from "./with-error-class.ts";

// Entries, their JSON texts and ids.

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
export { entryToTreeNode, parseEntryJson, parseHeaderJson } from "./entry-json.ts";
export type { IdSource, UuidV7Options } from "./ids.ts";
export { createUuidV7, createUuidV7Source } from "./ids.ts";
export type { JsonFault } from "./json-shape.ts";
export { findPayloadFault } from "./payload-fault.ts";

// Storages: the index and the base they share, and the one in memory.

export type { EntryRecord } from "./entry-record.ts";
export { entryToRecord, jsonToRecord } from "./entry-record.ts";
export type { InMemorySessionStorageOptions } from "./in-memory-session-storage.ts";
export { InMemorySessionStorage } from "./in-memory-session-storage.ts";
export { insertAt } from "./insert-at.ts";
export type { MatchableEntries } from "./line-matcher.ts";
export { LineMatcher } from "./line-matcher.ts";
export type { InsertResult, TreeNode, TreeStats } from "./session-tree.ts";
export { SessionTree } from "./session-tree.ts";
export { TaskQueue } from "./task-queue.ts";
export type { ShownRun, TreeChange, TreeSessionStorageOptions } from "./tree-session-storage.ts";
export { TreeSessionStorage } from "./tree-session-storage.ts";

// Sessions, and what a model sees of them.

export type {
  ContextOptions,
  ContextRules,
  EntryProjector,
  EntryTransform,
  ProjectedEntry,
  SessionContext,
} from "./context-projection.ts";
export {
  buildContextEntries,
  buildSessionContext,
  deriveContextState,
  detectContextRules,
  entryToContextMessages,
  projectEntries,
} from "./context-projection.ts";
export type { EntryContent, MoveSummary, SessionOptions } from "./session.ts";
export { Session } from "./session.ts";

// Compaction and branch summaries.

export type { BranchSummaryPlan, MoveWithSummaryOptions } from "./branch-summary.ts";
export { moveWithSummary, planBranchSummary } from "./branch-summary.ts";
export type { CompactionPlan, CompactionSettings, CompactOptions } from "./compaction.ts";
export { compactSession, DEFAULT_COMPACTION_SETTINGS, planCompaction, shouldCompact } from "./compaction.ts";
export type { Summarize, SummaryRequest } from "./summarize.ts";
export { foldSystemMessages } from "./system-message.ts";
export { estimateContextTokens, estimateTokens } from "./token-estimate.ts";
export type { FileLists, ToolCall } from "./tool-calls.ts";
export { collectFileLists, readToolCalls } from "./tool-calls.ts";

// Repositories of sessions.

export type { InMemorySessionCreateOptions, InMemorySessionRepoOptions } from "./in-memory-session-repo.ts";
export { InMemorySessionRepo } from "./in-memory-session-repo.ts";
export type { SessionCreateOptions, SessionForkOptions, SessionRepo } from "./session-repo.ts";
export { readForkLines } from "./session-repo.ts";

// Long work that gives way.

export type { SliceOptions } from "./slices.ts";
export { Slices } from "./slices.ts";

// Where updates are kept.

export { assertStoreName } from "./store-names.ts";
export type { StoredUpdate, UpdateLog, UpdateStore } from "./update-log.ts";
