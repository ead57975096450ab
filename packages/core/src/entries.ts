/**
 * The entry shapes of a session, as pi-agent-core 0.80-0.82 and pi-coding-agent 1.6 write them (session file format 3).
 * An entry is one append-only fact; it is never changed and never removed.
 */

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What every entry has. */
export interface EntryBase {
  /** Kind of the fact. Unknown kinds are kept whole and shown as unknown. */
  type: string;
  /** Unique within a session; a repeated id is kept, the first in log order is shown. */
  id: string;
  /** The entry this one continues; null (or an empty string) for a root. */
  parentId: string | null;
  /** ISO 8601 time of the writer's clock. */
  timestamp: string;
}

/** A message as the agent's model or application made it; only `role` is looked at by Coppice. */
export interface AgentMessageLike {
  role: string;
  [field: string]: unknown;
}

/** A conversation message: user, assistant, toolResult, system, or an application's role. */
export interface MessageEntry extends EntryBase {
  type: "message";
  message: AgentMessageLike;
}

/** The thinking level from here on. */
export interface ThinkingLevelChangeEntry extends EntryBase {
  type: "thinking_level_change";
  thinkingLevel: string;
}

/** The model from here on. */
export interface ModelChangeEntry extends EntryBase {
  type: "model_change";
  provider: string;
  modelId: string;
}

/** The active tools from here on. */
export interface ActiveToolsChangeEntry extends EntryBase {
  type: "active_tools_change";
  activeToolNames: string[];
}

/** A summary that stands for earlier entries of the branch in the model's context; nothing is cut from the log. */
export interface CompactionEntry extends EntryBase {
  type: "compaction";
  summary: string;
  /** First entry kept verbatim before the compaction; its own id means none is kept. */
  firstKeptEntryId?: string;
  tokensBefore: number;
  details?: unknown;
  fromHook?: boolean;
  /** Messages kept verbatim inside the compaction itself (0.81+). */
  retainedTail?: AgentMessageLike[];
  usage?: unknown;
  /** The system message that replaces those of the kept range (pi 1.6). */
  systemMessage?: AgentMessageLike;
}

/** A summary of a branch that was left. */
export interface BranchSummaryEntry extends EntryBase {
  type: "branch_summary";
  fromId: string;
  summary: string;
  details?: unknown;
  fromHook?: boolean;
  usage?: unknown;
}

/** Application data that never reaches the model by itself. */
export interface CustomEntry extends EntryBase {
  type: "custom";
  customType: string;
  data?: unknown;
}

/** An application's message that takes part in the model's context. */
export interface CustomMessageEntry extends EntryBase {
  type: "custom_message";
  customType: string;
  content: string | unknown[];
  details?: unknown;
  display: boolean;
}

/** Names an entry; an absent or blank label takes the name away. */
export interface LabelEntry extends EntryBase {
  type: "label";
  targetId: string;
  label?: string | undefined;
}

/** Names the session; an absent or blank name clears it. */
export interface SessionInfoEntry extends EntryBase {
  type: "session_info";
  name?: string;
}

/** A device moved its leaf to `targetId` (null: before the first entry). */
export interface LeafEntry extends EntryBase {
  type: "leaf";
  targetId: string | null;
}

/** Token usage of a request that left no message (pi 1.6). */
export interface UsageEntry extends EntryBase {
  type: "usage";
  kind: string;
  provider: string;
  model: string;
  usage: unknown;
  note?: string;
}

/** Replaces or (null) omits an earlier entry's content in the model's context (pi 1.6). */
export interface ContextEditEntry extends EntryBase {
  type: "context_edit";
  targetId: string;
  replacement: { content: unknown } | null;
}

/** An entry of a kind Coppice knows. */
export type KnownEntry =
  | MessageEntry
  | ThinkingLevelChangeEntry
  | ModelChangeEntry
  | ActiveToolsChangeEntry
  | CompactionEntry
  | BranchSummaryEntry
  | CustomEntry
  | CustomMessageEntry
  | LabelEntry
  | SessionInfoEntry
  | LeafEntry
  | UsageEntry
  | ContextEditEntry;

/** Any entry; kinds Coppice does not know keep all their fields. */
export type SessionEntry = KnownEntry;

/** The first line of a session file and the header record of a shared session. */
export interface SessionHeader {
  type: "session";
  version: number;
  id: string;
  timestamp: string;
  cwd: string;
  parentSession?: string;
  metadata?: { [key: string]: unknown };
}
