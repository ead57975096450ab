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
export type { Result, SessionErrorCode } from "./errors.ts";
export { SessionError } from "./errors.ts";
export type { GetEntriesOptions, SessionChange, SessionMetadata, SessionStorage } from "./session-storage.ts";
export type { InsertResult, TreeNode, TreeStats } from "./session-tree.ts";
export { SessionTree } from "./session-tree.ts";
export type { StoredUpdate, UpdateLog, UpdateStore } from "./update-log.ts";
