/**
 * What the model sees of a branch: pure functions from a path (root first) to messages and state.
 *
 * Two generations of pi project the same entries differently. Under the `harness` rules (pi-agent-core 0.80-0.82) an
 * older compaction inside the kept range is projected again; under the `coding-agent` rules (pi 1.6) it contributes
 * nothing, system messages of the kept range give way to the compaction's own, and context edits apply.
 */
import type { AgentMessageLike, CompactionEntry, ContextEditEntry, CustomEntry, SessionEntry } from "./entries.ts";

/** Which generation's rules hold where they differ. */
export type ContextRules = "harness" | "coding-agent";

/** The model's context on a branch. */
export interface SessionContext {
  messages: AgentMessageLike[];
  /** "off" until a change. */
  thinkingLevel: string;
  /** Of the last model change or assistant message; null before the first. */
  model: { provider: string; modelId: string } | null;
  /** null until a change: the host's own choice holds. */
  activeToolNames: string[] | null;
  /** Ids of entries that would give messages, but whose content is missing or cannot be read. Absent when there are none. */
  unreadable?: string[];
}

/** Changes the selected entries before they are projected; may drop, add or reorder. */
export type EntryTransform = (entries: SessionEntry[]) => readonly SessionEntry[];

/** Gives the messages of a custom entry, which has none by itself. */
export type EntryProjector = (
  entry: CustomEntry,
  index: number,
  entries: readonly SessionEntry[],
) => readonly AgentMessageLike[] | undefined;

/** How a context is built. */
export interface ContextOptions {
  /** Run in order, after the selection around the last compaction. */
  readonly entryTransforms?: readonly EntryTransform[];
  /** By customType. */
  readonly entryProjectors?: Readonly<Record<string, EntryProjector>>;
  /** Default: those of the generation that wrote the path, see `detectContextRules`. */
  readonly rules?: ContextRules;
}

/** An entry of the context with the messages it gives: none, one, or for a compaction several. */
export interface ProjectedEntry {
  readonly entry: SessionEntry;
  readonly messages: readonly AgentMessageLike[];
}

/** Builds the context of a path: state from all of it, messages from the selected entries. */
export function buildSessionContext(path: readonly SessionEntry[], options: ContextOptions = {}): SessionContext {
  const projected = projectEntries(path, options);
  const context = { ...deriveContextState(path), messages: projected.flatMap((item) => item.messages) };
  const unreadable = projected.filter((item) => !isReadable(item.entry)).map((item) => item.entry.id);
  return unreadable.length === 0 ? context : { ...context, unreadable };
}

/** The entries that make up the context, each with its messages, context edits applied. */
export function projectEntries(path: readonly SessionEntry[], options: ContextOptions = {}): ProjectedEntry[] {
  const rules = options.rules ?? detectContextRules(path);
  const entries = buildContextEntries(path, { ...options, rules });
  const edits = rules === "coding-agent" ? collectEdits(entries) : new Map<string, ContextEditEntry>();
  const newestCompaction = path.findLast((entry) => entry.type === "compaction");
  return entries.map((entry, index) => {
    const isSuperseded = rules === "coding-agent" && entry.type === "compaction" && entry !== newestCompaction;
    if (isSuperseded) return { entry, messages: [] };
    const messages = entryToContextMessages(entry, index, entries, { ...options, rules });
    return { entry, messages: applyEdit(messages, edits.get(entry.id)) };
  });
}

/**
 * The entries that make up the context: with a compaction on the path, the last one, then what it keeps from before
 * itself (nothing when it carries a `retainedTail`), then what follows; else the whole path. Then the transforms.
 */
export function buildContextEntries(path: readonly SessionEntry[], options: ContextOptions = {}): SessionEntry[] {
  let entries = selectEntries(path, options.rules ?? detectContextRules(path));
  for (const transform of options.entryTransforms ?? []) entries = [...transform(entries)];
  return entries;
}

/** The messages of one entry. `index` and `entries` are handed to the projector of a custom entry. */
export function entryToContextMessages(
  entry: SessionEntry,
  index: number,
  entries: readonly SessionEntry[],
  options: ContextOptions = {},
): AgentMessageLike[] {
  if (!isReadable(entry)) return [];
  const timestamp = new Date(entry.timestamp).getTime();
  switch (entry.type) {
    case "message":
      return [options.rules === "coding-agent" ? withContent(entry.message) : entry.message];
    case "custom_message": {
      const { customType, content, display, details } = entry;
      return [{ role: "custom", customType, content, display, details, timestamp }];
    }
    case "compaction": {
      const { summary, tokensBefore, systemMessage, retainedTail } = entry;
      const system = options.rules === "coding-agent" ? readMessages([systemMessage]) : [];
      return [
        ...system,
        { role: "compactionSummary", summary, tokensBefore, timestamp },
        ...readMessages(retainedTail),
      ];
    }
    case "branch_summary": {
      const { summary, fromId } = entry;
      return summary === "" ? [] : [{ role: "branchSummary", summary, fromId, timestamp }];
    }
    case "custom":
      return [...(options.entryProjectors?.[entry.customType]?.(entry, index, entries) ?? [])];
    default:
      return [];
  }
}

/** The messages in a list that a compaction carries; none where it is no list. */
export function readMessages(list: unknown): AgentMessageLike[] {
  return Array.isArray(list) ? list.filter((message) => typeof message === "object" && message !== null) : [];
}

/** pi 1.6 does not check what it reads, so it puts empty content where a message has none and its models would fail. */
function withContent(message: AgentMessageLike): AgentMessageLike {
  if (message.content !== null && message.content !== undefined) return message;
  if (message.role === "system") return { ...message, content: "" };
  return ["user", "assistant", "toolResult"].includes(message.role) ? { ...message, content: [] } : message;
}

/** Thinking level, model and tools as the whole path leaves them: the last entry that says so decides. */
export function deriveContextState(path: readonly SessionEntry[]): Omit<SessionContext, "messages" | "unreadable"> {
  let thinkingLevel = "off";
  let model: SessionContext["model"] = null;
  let activeToolNames: string[] | null = null;
  for (const entry of path) {
    if (entry.type === "thinking_level_change") {
      if (typeof entry.thinkingLevel === "string") thinkingLevel = entry.thinkingLevel;
    } else if (entry.type === "model_change") {
      if (typeof entry.modelId === "string") model = { provider: entry.provider, modelId: entry.modelId };
    } else if (entry.type === "message" && entry.message?.role === "assistant") {
      // pi always writes both; what another writer left out stays out.
      model = { provider: entry.message.provider as string, modelId: entry.message.model as string };
    } else if (entry.type === "active_tools_change") {
      if (Array.isArray(entry.activeToolNames)) activeToolNames = [...entry.activeToolNames];
    }
  }
  return { thinkingLevel, model, activeToolNames };
}

/**
 * The rules of the generation that wrote a path. What only pi 1.6 writes (system messages, usage, context edits,
 * compactions with a system message or that keep nothing by naming themselves) means its rules.
 */
export function detectContextRules(path: readonly SessionEntry[]): ContextRules {
  return path.some(isCodingAgentEntry) ? "coding-agent" : "harness";
}

function isCodingAgentEntry(entry: SessionEntry): boolean {
  switch (entry.type) {
    case "usage":
    case "context_edit":
      return true;
    case "message":
      return entry.message?.role === "system";
    case "compaction":
      return entry.systemMessage !== undefined || entry.firstKeptEntryId === entry.id;
    default:
      return false;
  }
}

function selectEntries(path: readonly SessionEntry[], rules: ContextRules): SessionEntry[] {
  const compactionIndex = path.findLastIndex((entry) => entry.type === "compaction");
  const compaction = path[compactionIndex] as CompactionEntry | undefined;
  if (compaction === undefined) return [...path];
  const before = path.slice(0, compactionIndex);
  const firstKeptIndex = before.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  const keepsBefore = firstKeptIndex >= 0 && !compaction.retainedTail;
  const kept = keepsBefore ? before.slice(firstKeptIndex) : [];
  // pi 1.6 writes the system prompt of the whole kept range into the compaction, so it would stand there twice.
  const replacesSystem = rules === "coding-agent";
  const isReplaced = (entry: SessionEntry): boolean =>
    replacesSystem && entry.type === "message" && entry.message?.role === "system";
  return [compaction, ...kept.filter((entry) => !isReplaced(entry)), ...path.slice(compactionIndex + 1)];
}

/** The last edit of each target. */
function collectEdits(entries: readonly SessionEntry[]): Map<string, ContextEditEntry> {
  const edits = new Map<string, ContextEditEntry>();
  for (const entry of entries) if (entry.type === "context_edit") edits.set(entry.targetId, entry);
  return edits;
}

const EDITABLE_ROLES: readonly string[] = ["user", "assistant", "toolResult", "custom"];

function applyEdit(messages: AgentMessageLike[], edit: ContextEditEntry | undefined): AgentMessageLike[] {
  // An edit whose payload cannot be read changes nothing.
  if (edit?.replacement === undefined) return messages;
  if (edit.replacement === null) return [];
  const { content } = edit.replacement;
  return messages.map((message) => {
    if (!EDITABLE_ROLES.includes(message.role)) return message;
    const takesBlocksOnly = message.role === "assistant" || message.role === "toolResult";
    const isBareText = takesBlocksOnly && typeof content === "string";
    return { ...message, content: isBareText ? [{ type: "text", text: content }] : content };
  });
}

/** False for an entry that should give messages and lacks the field they come from, as one with an unreadable payload. */
function isReadable(entry: SessionEntry): boolean {
  switch (entry.type) {
    case "message":
      return typeof entry.message === "object" && entry.message !== null;
    case "custom_message":
      return entry.content !== undefined;
    case "compaction":
    case "branch_summary":
      return typeof entry.summary === "string";
    default:
      return true;
  }
}
