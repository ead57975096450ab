import {
  buildContextEntries,
  buildSessionContext,
  type ContextOptions,
  detectContextRules,
  projectEntries,
  type SessionContext,
} from "./context-projection.ts";
import type { AgentMessageLike, ContextEditEntry, EntryBase, KnownEntry, SessionEntry } from "./entries.ts";
import { SessionError } from "./errors.ts";
import type { GetEntriesOptions, SessionMetadata, SessionStats, SessionStorage } from "./session-storage.ts";
import { foldSystemMessages } from "./system-message.ts";
import { TaskQueue } from "./task-queue.ts";

/** How a session builds its contexts, and its clock. */
export interface SessionOptions extends ContextOptions {
  /** Milliseconds since 1970, for the timestamps of entries; default the system clock. */
  readonly now?: () => number;
}

/** The summary of the branch a move leaves behind. */
export interface MoveSummary {
  readonly summary: string;
  readonly details?: unknown;
  readonly fromHook?: boolean;
  readonly usage?: unknown;
}

/**
 * What a caller gives of an entry: type and payload. The session adds id, parentId and timestamp. Optional fields may be
 * given as undefined; they are left out of the JSON text.
 */
export type EntryContent = KnownEntry extends infer Entry
  ? Entry extends KnownEntry
    ? Undefinable<Omit<Entry, AddedField>>
    : never
  : never;
type AddedField = Exclude<keyof EntryBase, "type">;
type Undefinable<Content> = {
  [Field in keyof Content]: undefined extends Content[Field] ? Content[Field] | undefined : Content[Field];
};

/**
 * A session on any storage, with the methods of pi-agent-core's `Session` (0.80, and what 0.82 added).
 *
 * Appends and moves run one after another, in the order of the calls: two that are not awaited chain instead of taking
 * the same parent and forking the tree. Each resolves, with the new entry's id, when its entry is as durable as the
 * storage gets. Errors are the storage's `SessionError`s.
 */
export class Session<Storage extends SessionStorage = SessionStorage> {
  readonly #storage: Storage;
  readonly #contextOptions: ContextOptions;
  readonly #now: () => number;
  readonly #writes = new TaskQueue();

  constructor(storage: Storage, options: SessionOptions = {}) {
    const { now, ...contextOptions } = options;
    this.#storage = storage;
    this.#contextOptions = contextOptions;
    this.#now = now ?? Date.now;
  }

  /** The storage beneath. */
  getStorage(): Storage {
    return this.#storage;
  }

  /** Identity of the session. */
  getMetadata(): Promise<SessionMetadata> {
    return this.#storage.getMetadata();
  }

  /** The entry the next append continues; null before the first. */
  getLeafId(): Promise<string | null> {
    return this.#storage.getLeafId();
  }

  /** The entry of an id, `leaf` entries included. */
  getEntry(id: string): Promise<SessionEntry | undefined> {
    return this.#storage.getEntry(id);
  }

  /** The log. */
  getEntries(options?: GetEntriesOptions): Promise<SessionEntry[]> {
    return this.#storage.getEntries(options);
  }

  /** The label of an entry, whichever branch named it. */
  getLabel(id: string): Promise<string | undefined> {
    return this.#storage.getLabel(id);
  }

  /** The session's name. */
  getSessionName(): Promise<string | undefined> {
    return this.#storage.getSessionName();
  }

  /** Counts and token usage over the whole tree. */
  getSessionStats(): Promise<SessionStats> {
    return this.#storage.getSessionStats();
  }

  /** The branch that ends at `fromId`, default the leaf; root first. */
  async getBranch(fromId?: string): Promise<SessionEntry[]> {
    return this.#storage.getPathToRoot(fromId ?? (await this.#storage.getLeafId()));
  }

  async #readContextPath(): Promise<SessionEntry[]> {
    const leafId = await this.#storage.getLeafId();
    return (await this.#storage.getContextPath?.(leafId)) ?? this.#storage.getPathToRoot(leafId);
  }

  /** The entries of the leaf's branch that make up the model's context. Transforms given here run after the session's own. */
  async buildContextEntries(options: ContextOptions = {}): Promise<SessionEntry[]> {
    return buildContextEntries(await this.#readContextPath(), this.#mergeOptions(options));
  }

  /** The model's context at the leaf. Projectors given here go before the session's own. */
  async buildContext(options: ContextOptions = {}): Promise<SessionContext> {
    return buildSessionContext(await this.#readContextPath(), this.#mergeOptions(options));
  }

  /** Appends an entry of any content under the leaf; what its fields name is not looked up. */
  appendContent(content: EntryContent): Promise<string> {
    return this.#append(content);
  }

  /** Appends a message of any role. */
  appendMessage(message: AgentMessageLike): Promise<string> {
    return this.#append({ type: "message", message });
  }

  /** Sets the thinking level of the branch from here on. */
  appendThinkingLevelChange(thinkingLevel: string): Promise<string> {
    return this.#append({ type: "thinking_level_change", thinkingLevel });
  }

  /** Sets the model of the branch from here on. */
  appendModelChange(provider: string, modelId: string): Promise<string> {
    return this.#append({ type: "model_change", provider, modelId });
  }

  /** Sets the active tools of the branch from here on. */
  appendActiveToolsChange(activeToolNames: readonly string[]): Promise<string> {
    return this.#append({ type: "active_tools_change", activeToolNames: [...activeToolNames] });
  }

  /**
   * Lets a summary stand for the branch before `firstKeptEntryId` in the model's context; undefined keeps nothing.
   * With `retainedTail` those messages are kept instead. Nothing is removed from the log. On a branch of pi 1.6 the
   * entry also gets the system message that its context adds up to, because under pi's rules no earlier one counts.
   */
  appendCompaction(
    summary: string,
    firstKeptEntryId: string | undefined,
    tokensBefore: number,
    details?: unknown,
    fromHook?: boolean,
    usage?: unknown,
    retainedTail?: AgentMessageLike[],
  ): Promise<string> {
    return this.#append({
      type: "compaction",
      summary,
      firstKeptEntryId,
      tokensBefore,
      retainedTail,
      details,
      usage,
      fromHook,
    });
  }

  /**
   * Appends what `make` returns for the leaf's branch (root first) as it is when this append's turn has come: no other
   * append or move of this session comes in between. When `make` throws, nothing is written and the call rejects with it.
   */
  appendFromBranch(make: (branch: readonly SessionEntry[]) => EntryContent): Promise<string> {
    return this.#writes.run(async () => this.#write(make(await this.getBranch())));
  }

  /** Appends application data that never reaches the model by itself. */
  appendCustomEntry(customType: string, data?: unknown): Promise<string> {
    return this.#append({ type: "custom", customType, data });
  }

  /** Appends an application's message to the model. `display`: whether to show it to people. */
  appendCustomMessageEntry(
    customType: string,
    content: string | unknown[],
    display: boolean,
    details?: unknown,
  ): Promise<string> {
    return this.#append({ type: "custom_message", customType, content, display, details });
  }

  /** Names an entry; undefined or blank takes the name away. Unknown target: `not_found`. */
  appendLabel(targetId: string, label: string | undefined): Promise<string> {
    return this.#writes.run(async () => {
      await this.#requireEntry(targetId);
      return this.#write({ type: "label", targetId, label });
    });
  }

  /** Names the session; line breaks become spaces, an empty name clears it. */
  appendSessionName(name: string): Promise<string> {
    return this.#append({ type: "session_info", name: name.replace(/[\r\n]+/g, " ").trim() });
  }

  /** Notes the token usage of a request that left no message (pi 1.6). */
  appendUsage(kind: string, provider: string, model: string, usage: unknown, note?: string): Promise<string> {
    return this.#append({ type: "usage", kind, provider, model, usage, note });
  }

  /**
   * Replaces or (null) omits an entry's content in the model's context from here on (pi 1.6). Unknown target:
   * `not_found`; one that is not on the leaf's branch or gives the model no content of its own, or a replacement that
   * is no content: `invalid_entry`.
   */
  appendContextEdit(targetId: string, replacement: ContextEditEntry["replacement"]): Promise<string> {
    return this.#writes.run(async () => {
      const target = await this.#requireEntry(targetId);
      if (!(await this.getBranch()).some((entry) => entry.id === targetId)) {
        throw new SessionError("invalid_entry", `Entry ${targetId} is not on the active branch`);
      }
      if (!isEditable(target)) {
        throw new SessionError("invalid_entry", `Entry ${targetId} has no content that a context edit could replace`);
      }
      if (replacement !== null && typeof replacement?.content !== "string" && !Array.isArray(replacement?.content)) {
        throw new SessionError("invalid_entry", `The replacement for entry ${targetId} is neither text nor blocks`);
      }
      return this.#write({ type: "context_edit", targetId, replacement });
    });
  }

  /**
   * Moves the leaf to an entry (null: before the first), leaving a `leaf` entry. With a summary, appends it as a
   * `branch_summary` there and returns its id. Unknown id: `not_found`. With `leavingId`, when the leaf is another once
   * the move's turn has come: `invalid_session`. In both cases nothing is written.
   */
  moveTo(entryId: string | null, summary?: MoveSummary, leavingId?: string | null): Promise<string | undefined> {
    return this.#writes.run(async () => {
      if (entryId !== null) await this.#requireEntry(entryId);
      if (leavingId !== undefined) await this.#requireLeaf(leavingId);
      await this.#storage.setLeafId(entryId);
      if (summary === undefined) return undefined;
      const { details, usage, fromHook } = summary;
      return this.#write(
        { type: "branch_summary", fromId: entryId ?? "root", summary: summary.summary, details, usage, fromHook },
        entryId,
      );
    });
  }

  #append(content: EntryContent): Promise<string> {
    return this.#writes.run(() => this.#write(content));
  }

  async #write(content: EntryContent, knownParentId?: string | null): Promise<string> {
    const id = await this.#storage.createEntryId();
    const parentId = knownParentId === undefined ? await this.#storage.getLeafId() : knownParentId;
    const nowMs = this.#now();
    const { type, ...payload } = content;
    const needsSystemMessage = content.type === "compaction" && content.systemMessage === undefined;
    const systemMessage = needsSystemMessage ? await this.#foldSystemMessages(nowMs) : undefined;
    // Field order as pi writes it. Optional fields that are undefined do not reach the JSON text.
    const base = { type, id, parentId, timestamp: new Date(nowMs).toISOString() };
    const added = systemMessage === undefined ? {} : { systemMessage };
    await this.#storage.appendEntry({ ...base, ...payload, ...added } as SessionEntry);
    return id;
  }

  /** The system message for a compaction of the leaf's branch; undefined under rules that know none. */
  async #foldSystemMessages(nowMs: number): Promise<AgentMessageLike | undefined> {
    const branch = await this.getBranch().catch((error: unknown) => {
      // Without its root the branch has no context; the compaction is appended like anything else.
      if (error instanceof SessionError && error.code === "invalid_session") return [];
      throw error;
    });
    const rules = this.#contextOptions.rules ?? detectContextRules(branch);
    if (rules !== "coding-agent") return undefined;
    return foldSystemMessages(
      projectEntries(branch, { rules }).flatMap(({ messages }) => messages),
      nowMs,
    );
  }

  async #requireLeaf(id: string | null): Promise<void> {
    const leafId = await this.#storage.getLeafId();
    if (leafId === id) return;
    throw new SessionError("invalid_session", `The leaf moved from ${id} to ${leafId} meanwhile; move again`);
  }

  async #requireEntry(id: string): Promise<SessionEntry> {
    const entry = await this.#storage.getEntry(id);
    if (entry === undefined) throw new SessionError("not_found", `Entry ${id} not found`);
    return entry;
  }

  #mergeOptions(options: ContextOptions): ContextOptions {
    const own = this.#contextOptions;
    return {
      ...own,
      ...options,
      entryTransforms: [...(own.entryTransforms ?? []), ...(options.entryTransforms ?? [])],
      entryProjectors: { ...own.entryProjectors, ...options.entryProjectors },
    };
  }
}

function isEditable(entry: SessionEntry): boolean {
  if (entry.type === "custom_message") return true;
  return entry.type === "message" && ["user", "assistant", "toolResult"].includes(entry.message?.role);
}
