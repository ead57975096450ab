import type { SessionEntry } from "./entries.ts";

/** Identity of a session. Storages add what they know: cwd, path, parent session, metadata. */
export interface SessionMetadata {
  id: string;
  /** ISO 8601. */
  createdAt: string;
  cwd?: string;
  path?: string;
  parentSessionPath?: string;
  metadata?: { [key: string]: unknown };
}

/** Which part of the log to return. */
export interface GetEntriesOptions {
  /** Only entries that arrived at this replica after the first `afterEntrySeq` ones. */
  afterEntrySeq?: number;
  /** At most this many. */
  limit?: number;
}

/** Counts and token usage over the whole tree, as pi-agent-core 0.82 reports them. */
export interface SessionStats {
  messageCount: number;
  /** Tokens read from the provider's cache. */
  cachedTokens: number;
  /** Input tokens and tokens written to the cache. */
  uncachedTokens: number;
  /** Input, output and both kinds of cached tokens. */
  totalTokens: number;
  /** In the currency of the usage records (pi: US dollars). */
  costTotal: number;
}

/** An id that records of the log have with different contents. All are kept, the first in log order is shown. */
export interface IdConflict {
  readonly id: string;
  /** Their exact JSON texts in log order, each text once; those that cannot be read are left out. */
  readonly jsons: readonly string[];
}

/** What changed in a storage, told to its subscribers after the change is visible to reads. */
export interface SessionChange {
  /** Entries that are shown from now on, in log order; from this replica or from others. Empty when only conflicts came. */
  readonly added: readonly SessionEntry[];
  /** Ids for which a record came whose content is none the log had for them. Absent when there are none. */
  readonly conflicts?: readonly IdConflict[];
  /** True when another replica or process wrote them. */
  readonly remote: boolean;
}

/** How far a batch has come. */
export interface BatchProgress {
  /** Lines dealt with: what is in them is durable, or refused. */
  readonly lines: number;
  /** Entries written. */
  readonly written: number;
  /** Entries that were there already, byte for byte. */
  readonly known: number;
  /** Lines left out by `onRefused`. */
  readonly refused: number;
}

/** How a batch ended. */
export interface BatchResult extends BatchProgress {
  /** False: it was aborted with lines left; the same batch again goes on where this one stopped. */
  readonly isComplete: boolean;
}

/** A line that a batch left out. */
export interface RefusedLine {
  /** Counted from 1. */
  readonly line: number;
  /** What is the matter with it, naming the entry where it has an id. */
  readonly reason: string;
}

/** How a batch is appended. */
export interface BatchOptions {
  /** An `AbortSignal`: once it is aborted no further step begins. */
  readonly signal?: { readonly aborted: boolean } | undefined;
  /** Called after each step. What it throws ends the batch. */
  readonly onProgress?: ((progress: BatchProgress) => void) | undefined;
  /** Called for a line that cannot be appended, in order; the others go on. Absent: such a line ends the batch. */
  readonly onRefused?: ((refused: RefusedLine) => void) | undefined;
}

/**
 * A session tree kept somewhere. The first eleven methods are pi-agent-core 0.80's contract, name for name, so that
 * its `Session` and `AgentHarness` run on any Coppice storage; the rest is Coppice's.
 *
 * Rejections are `SessionError`s. Entries handed out must not be changed by the caller.
 */
export interface SessionStorage {
  /** Identity of the session; the same after every reopening. */
  getMetadata(): Promise<SessionMetadata>;
  /**
   * The exact JSON text of the session's header, fields Coppice does not know included; undefined while there is none.
   * Absent in storages that keep no header.
   */
  getHeaderJson?(): string | undefined;
  /** The entry the next append continues; null before the first. `invalid_session` when it is not a known entry. */
  getLeafId(): Promise<string | null>;
  /** Moves the leaf by appending a `leaf` entry. Unknown id: `not_found`, nothing is written. */
  setLeafId(leafId: string | null): Promise<void>;
  /** An id not in use. */
  createEntryId(): Promise<string>;
  /** Appends one entry and makes it the leaf (a `leaf` entry: its target). Settles when it is as durable as the storage gets. */
  appendEntry(entry: SessionEntry): Promise<void>;
  /** The shown entry of this id (the first in log order), or undefined. */
  getEntry(id: string): Promise<SessionEntry | undefined>;
  /** All entries of a type, in log order, whole tree. */
  findEntries<Type extends SessionEntry["type"]>(type: Type): Promise<Extract<SessionEntry, { type: Type }>[]>;
  /** The label of an entry, trimmed, or undefined. */
  getLabel(id: string): Promise<string | undefined>;
  /** Root first. Null: `[]`; unknown id: `not_found`; a missing ancestor or a cycle: `invalid_session`. */
  getPathToRoot(leafId: string | null): Promise<SessionEntry[]>;
  /** Log order, `leaf` entries included, each id once. With `afterEntrySeq`: order of arrival at this replica. */
  getEntries(options?: GetEntriesOptions): Promise<SessionEntry[]>;

  /**
   * As `getPathToRoot`, but only down from the entry where the model's context starts (pi-agent-core 0.82): a
   * compaction with `retainedTail`, else the `firstKeptEntryId` of the compaction met last on the way up.
   */
  getPathToRootOrCompaction(leafId: string | null): Promise<SessionEntry[]>;
  /**
   * As `getPathToRoot`, but entries that have no say in the context may be left out: the context of what is returned is
   * that of the whole path. Absent in storages for which reading all entries costs no more.
   */
  getContextPath?(leafId: string | null): Promise<SessionEntry[]>;
  /** Counts and token usage over the whole tree (pi-agent-core 0.82). */
  getSessionStats(): Promise<SessionStats>;
  /** The session's name: the last `session_info` of the whole tree, trimmed; undefined when cleared or never set. */
  getSessionName(): Promise<string | undefined>;
  /**
   * Entries that name `id` as parent (null: the roots), in log order, without `leaf` entries. What continues a `leaf`
   * entry counts as a child of the entry above that one.
   */
  getChildren(id: string | null): Promise<SessionEntry[]>;
  /** Entries without children, in log order; `leaf` entries are neither tips nor children. */
  getTips(): Promise<SessionEntry[]>;
  /** The exact JSON text of an entry, as it was first written. */
  getEntryJson(id: string): Promise<string | undefined>;
  /**
   * Appends entries given as exact JSON texts, one entry each. A text whose id and bytes are already in the log is
   * left out. Returns the ids written. Bad text: `invalid_entry`, naming line (counted from 1), field and what was
   * expected; nothing is written.
   */
  appendJson(lines: readonly string[]): Promise<string[]>;
  /**
   * As `appendJson`, for any number of lines: read as they are needed and appended in steps of at most 256 Ki characters
   * (a longer line is a step of its own), each durable before the next begins, with turns for other work and other
   * appends in between. However it ends, what it has written is the first lines of the batch, and the same batch again
   * writes only the rest. A bad line rejects with `invalid_entry` and its number: the lines before it are written, none
   * after it.
   */
  appendBatch(lines: Iterable<string> | AsyncIterable<string>, options?: BatchOptions): Promise<BatchResult>;
  /**
   * Calls the listener after each change from now on, in order, never inside a call of an append. Returns the function
   * that stops it. One that throws harms neither the append nor other listeners; its error is reported as uncaught, as
   * event targets do, which ends a Node process that has no handler for those.
   */
  subscribe(listener: (change: SessionChange) => void): () => void;
  /** Settles when everything appended is durable; releases the storage. Safe to call twice. */
  close(): Promise<void>;
}
