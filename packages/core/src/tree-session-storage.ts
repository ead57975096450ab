import { appendInSteps } from "./append-in-steps.ts";
import { readContextPath } from "./context-path.ts";
import type { SessionEntry } from "./entries.ts";
import { type EntryRecord, entryToRecord, jsonToRecord } from "./entry-record.ts";
import { SessionError, type SessionErrorCode } from "./errors.ts";
import { createUuidV7Source, type IdSource } from "./ids.ts";
import { computeSessionStats } from "./session-stats.ts";
import type {
  BatchOptions,
  BatchResult,
  GetEntriesOptions,
  IdConflict,
  SessionChange,
  SessionMetadata,
  SessionStats,
  SessionStorage,
} from "./session-storage.ts";
import { type InsertResult, SessionTree, type TreeNode } from "./session-tree.ts";
import { TaskQueue } from "./task-queue.ts";

/** In every JavaScript host; named here because core is typed without one. */
declare function queueMicrotask(callback: () => void): void;

/** Nodes that became part of the log, and where. */
export interface ShownRun<Node extends TreeNode> {
  readonly nodes: readonly Node[];
  /** Position of the first in the log, counted over all nodes; default the end. */
  readonly at?: number;
}

/** What changed in a storage's tree, told before any content is read. */
export interface TreeChange<Node extends TreeNode> {
  /** Shown from now on, in log order. Empty when something else has changed that reads of the tree or of problems show. */
  readonly added: readonly Node[];
  /** True when another replica or process wrote them. */
  readonly remote: boolean;
}

/** What every storage over a tree is made from. */
export interface TreeSessionStorageOptions {
  readonly metadata: SessionMetadata;
  /** Makes entry ids; default UUIDv7. */
  readonly createId?: IdSource;
  /** Milliseconds since 1970, for `leaf` entries; default the system clock. */
  readonly now?: () => number;
}

/** Codes by which `readJson` says that a payload is there and cannot be read. */
const unreadableCodes: readonly SessionErrorCode[] = ["invalid_entry", "version_mismatch"];

/**
 * What all storages do alike, over one `SessionTree`: the whole `SessionStorage` contract, the leaf, the order of
 * appends, subscribers. A storage adds how a record is written (`writeRecords`) and how a payload is read (`readJson`,
 * and `readEntry` when it keeps parsed entries).
 *
 * The life of an append: its text is taken and checked at the call; calls enter `writeRecords` in their order; the
 * storage puts the record where it is kept and calls `show`, before or after it is durable; the entry is then in the
 * tree, the leaf has moved and subscribers are told; the append resolves when `writeRecords` does.
 */
export abstract class TreeSessionStorage<Node extends TreeNode> implements SessionStorage {
  /** The index. Only `show` adds to it, and only `showAnew` takes another one. */
  protected tree: SessionTree<Node> = new SessionTree<Node>();
  /** What was the index until now, while it is made anew. */
  #previousTree: SessionTree<Node> | undefined;
  /** Where the next append goes. `show` moves it; a storage sets it on open and where its own leaf rule says so. */
  protected leafId: string | null = null;
  readonly #metadata: SessionMetadata;
  readonly #createId: IdSource;
  readonly #now: () => number;
  readonly #appends = new TaskQueue();
  readonly #notices = new TaskQueue();
  readonly #listeners = new Set<(change: SessionChange) => void>();
  readonly #treeListeners = new Set<(change: TreeChange<Node>) => void>();
  #written: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: TreeSessionStorageOptions) {
    this.#metadata = options.metadata;
    this.#now = options.now ?? Date.now;
    this.#createId = options.createId ?? createUuidV7Source({ now: this.#now });
  }

  /**
   * Keeps records and calls `show` for them, in order. Called in the order of the appends, without waiting for earlier
   * calls to settle. Settles when the records are as durable as the storage gets; rejects with a `SessionError`.
   */
  protected abstract writeRecords(records: readonly EntryRecord[]): Promise<void>;

  /** The exact JSON text of a node. */
  protected abstract readJson(node: Node): string | Promise<string>;

  /** False when a node is known, without reading its payload, not to hold this text. */
  protected mayHold(_node: Node, _json: string): boolean {
    return true;
  }

  /**
   * The entry of a node. Storages that keep parsed entries override it. For a payload that cannot be read it gives the
   * fields that are known: the entry keeps its place on its branch, and the context leaves it out and names it.
   */
  protected readEntry(node: Node): SessionEntry | Promise<SessionEntry> {
    const json = this.readJson(node);
    return typeof json === "string" ? JSON.parse(json) : json.then((text) => JSON.parse(text));
  }

  /** Shown nodes in the order they arrived at this replica; log order unless a storage knows better. */
  protected nodesByArrival(): readonly Node[] {
    return this.tree.nodes();
  }

  /** Releases what the storage holds; called once, after the last append has settled. */
  protected async release(): Promise<void> {}

  /**
   * Takes nodes into the tree, moves the leaf after own ones, tells subscribers. Several runs are one change, in log
   * order; positions are those at the moment each run is inserted. Returns what became of each node.
   */
  protected show(runs: readonly ShownRun<Node>[], remote: boolean): InsertResult<Node>[] {
    const results: InsertResult<Node>[] = [];
    for (const { nodes, at } of runs) {
      for (const result of this.tree.insertAll(nodes, at)) results.push(result);
      const last = nodes.at(-1);
      if (!remote && last !== undefined) this.leafId = this.tree.leafEffect(last);
    }
    if (this.#listeners.size + this.#treeListeners.size > 0) {
      const nodes = runs.flatMap((run) => run.nodes);
      const previous = this.#previousTree;
      const added = nodes.filter((node, index) => results[index]?.shown && !previous?.has(node.id));
      const repeated = previous ? [] : nodes.filter((_, index) => results[index]?.duplicateOf !== undefined);
      if (added.length + repeated.length > 0) {
        this.tellTreeChange({ added, remote });
        if (this.#listeners.size > 0) this.#queueNotice(added, this.#groupById(repeated, nodes), remote);
      }
    }
    return results;
  }

  /**
   * Makes the index anew: `fill` shows all there is, in the order it has now. The leaf stays, and subscribers are told
   * only of entries that were not shown before.
   */
  protected showAnew(fill: () => void): void {
    const { leafId } = this;
    this.#previousTree = this.tree;
    this.tree = new SessionTree<Node>();
    try {
      fill();
    } finally {
      this.#previousTree = undefined;
      this.leafId = leafId;
    }
  }

  /** Tells those who look at the tree; `show` does it by itself. */
  protected tellTreeChange(change: TreeChange<Node>): void {
    // A turn for each: one that throws is reported as uncaught and keeps no other from hearing.
    for (const listener of this.#treeListeners)
      queueMicrotask(() => {
        if (this.#treeListeners.has(listener)) listener(change);
      });
  }

  async getMetadata(): Promise<SessionMetadata> {
    return this.#metadata;
  }

  async getLeafId(): Promise<string | null> {
    if (this.leafId !== null && !this.tree.has(this.leafId)) {
      throw new SessionError("invalid_session", `Entry ${this.leafId} not found`);
    }
    return this.leafId;
  }

  async setLeafId(leafId: string | null): Promise<void> {
    await this.#append(async () => {
      if (leafId !== null && !this.tree.has(leafId)) {
        throw new SessionError("not_found", `Entry ${leafId} not found`);
      }
      const entry: SessionEntry = {
        type: "leaf",
        id: this.#createFreeId(),
        parentId: this.leafId,
        timestamp: new Date(this.#now()).toISOString(),
        targetId: leafId,
      };
      return [{ json: JSON.stringify(entry), entry }];
    });
  }

  async createEntryId(): Promise<string> {
    return this.#createFreeId();
  }

  async appendEntry(entry: SessionEntry): Promise<void> {
    const record = entryToRecord(entry);
    await this.#append(async () => [record]);
  }

  async appendJson(lines: readonly string[]): Promise<string[]> {
    const records = lines.map((json, index) => jsonToRecord(json, `Line ${index + 1} is no entry`));
    const written = await this.#append(() => this.#dropKnown(records));
    return written.map((record) => record.entry.id);
  }

  async appendBatch(lines: Iterable<string> | AsyncIterable<string>, options: BatchOptions = {}): Promise<BatchResult> {
    this.#requireOpen();
    return appendInSteps(
      async (records) => (await this.#append(() => this.#dropKnown(records))).length,
      lines,
      options,
    );
  }

  async getEntry(id: string): Promise<SessionEntry | undefined> {
    const node = this.tree.get(id);
    return node === undefined ? undefined : this.readEntry(node);
  }

  async getEntryJson(id: string): Promise<string | undefined> {
    const node = this.tree.get(id);
    return node === undefined ? undefined : this.readJson(node);
  }

  async findEntries<Type extends SessionEntry["type"]>(type: Type): Promise<Extract<SessionEntry, { type: Type }>[]> {
    // The tree files a node under the type its entry has.
    return (await this.#readEntries(this.tree.byType(type))) as Extract<SessionEntry, { type: Type }>[];
  }

  async getLabel(id: string): Promise<string | undefined> {
    return this.tree.label(id);
  }

  async getSessionName(): Promise<string | undefined> {
    return this.tree.sessionName();
  }

  async getPathToRoot(leafId: string | null): Promise<SessionEntry[]> {
    return this.#readEntries(this.tree.pathToRoot(leafId));
  }

  async getContextPath(leafId: string | null): Promise<SessionEntry[]> {
    return readContextPath(this.tree.pathToRoot(leafId), (node) => this.readEntry(node));
  }

  async getPathToRootOrCompaction(leafId: string | null): Promise<SessionEntry[]> {
    const path: SessionEntry[] = [];
    const walked = new Set<Node>();
    let node = leafId === null ? undefined : this.tree.get(leafId);
    if (node === undefined && leafId !== null) throw new SessionError("not_found", `Entry ${leafId} not found`);
    let stopId: string | undefined;
    for (; node !== undefined; node = this.tree.parentOf(node)) {
      // Counting steps is not enough here: the walk could end at an entry it had been at before.
      if (walked.has(node)) {
        throw new SessionError("invalid_session", `The ancestors of entry ${leafId} form a cycle`);
      }
      walked.add(node);
      const entry: SessionEntry = await this.readEntry(node);
      path.push(entry);
      if (node.id === stopId) break;
      if (entry.type === "compaction") {
        if (entry.retainedTail) break;
        stopId = entry.firstKeptEntryId;
      }
    }
    return path.reverse();
  }

  async getEntries(options: GetEntriesOptions = {}): Promise<SessionEntry[]> {
    const { afterEntrySeq, limit } = options;
    const nodes = afterEntrySeq === undefined ? this.tree.nodes() : this.nodesByArrival();
    const start = afterEntrySeq ?? 0;
    return this.#readEntries(nodes.slice(start, limit === undefined ? undefined : start + limit));
  }

  async getSessionStats(): Promise<SessionStats> {
    return computeSessionStats(
      await this.#readEntries([
        ...this.tree.byType("message"),
        ...this.tree.byType("compaction"),
        ...this.tree.byType("branch_summary"),
      ]),
    );
  }

  async getChildren(id: string | null): Promise<SessionEntry[]> {
    return this.#readEntries(this.tree.children(id));
  }

  async getTips(): Promise<SessionEntry[]> {
    return this.#readEntries(this.tree.tips());
  }

  subscribe(listener: (change: SessionChange) => void): () => void {
    // A wrapper of its own, so that a listener subscribed twice is called twice and stopped one at a time.
    const call = (change: SessionChange): void => listener(change);
    this.#listeners.add(call);
    return () => {
      this.#listeners.delete(call);
    };
  }

  /**
   * As `subscribe`, but told what is known without reading any content: for whoever looks at the tree and would not want
   * ten thousand entries opened because they have arrived. Told before `subscribe` tells of the same change.
   */
  subscribeToTree(listener: (change: TreeChange<Node>) => void): () => void {
    const call = (change: TreeChange<Node>): void => listener(change);
    this.#treeListeners.add(call);
    return () => {
      this.#treeListeners.delete(call);
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  /** Writes the records that `decide` returns, in the order of the calls, and returns them when they are durable. */
  async #append(decide: () => Promise<readonly EntryRecord[]>): Promise<readonly EntryRecord[]> {
    this.#requireOpen();
    const { records, written } = await this.#appends.run(async () => {
      const records = await decide();
      const written = records.length === 0 ? Promise.resolve() : this.writeRecords(records);
      const settled = written.catch(() => undefined);
      this.#written = this.#written.then(() => settled);
      // Inside an object, so that the queue goes on while the records become durable: a storage commits in groups.
      return { records, written };
    });
    await written;
    return records;
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new SessionError("closed", "The session storage is closed");
  }

  async #dropKnown(records: readonly EntryRecord[]): Promise<EntryRecord[]> {
    const fresh: EntryRecord[] = [];
    const texts = new Set<string>();
    for (const record of records) {
      if (texts.has(record.json)) continue;
      texts.add(record.json);
      if (!(await this.#holds(record))) fresh.push(record);
    }
    return fresh;
  }

  async #holds({ json, entry }: EntryRecord): Promise<boolean> {
    for (const node of this.tree.nodesWithId(entry.id)) {
      if (this.mayHold(node, json) && (await this.#readJsonIfReadable(node)) === json) return true;
    }
    return false;
  }

  /** Undefined for a payload that does not open: a good copy of it is worth writing. */
  async #readJsonIfReadable(node: Node): Promise<string | undefined> {
    try {
      return await this.readJson(node);
    } catch (error) {
      if (error instanceof SessionError && unreadableCodes.includes(error.code)) return undefined;
      throw error;
    }
  }

  async #readEntries(nodes: readonly Node[]): Promise<SessionEntry[]> {
    const entries: SessionEntry[] = [];
    for (const node of nodes) {
      const entry = this.readEntry(node);
      // Awaiting a value that is there costs a turn each, which adds up over a long path.
      entries.push(entry instanceof Promise ? await entry : entry);
    }
    return entries;
  }

  #createFreeId(): string {
    for (;;) {
      const id = this.#createId();
      if (!this.tree.has(id)) return id;
    }
  }

  #queueNotice(nodes: readonly Node[], repeated: readonly RepeatedId<Node>[], remote: boolean): void {
    // Those of now: who subscribes later, be it inside a listener, has not been promised this change.
    const listeners = [...this.#listeners];
    // Payloads may have to be read first; the queue keeps the changes in order meanwhile.
    void this.#notices.run(async () => {
      try {
        const added = await this.#readEntries(nodes);
        const conflicts = await this.#findConflicts(repeated);
        if (added.length + conflicts.length === 0) return;
        const change: SessionChange = { added, remote, ...(conflicts.length === 0 ? {} : { conflicts }) };
        for (const listener of listeners) {
          // One before it may have stopped it.
          if (this.#listeners.has(listener)) callOrReport(() => listener(change));
        }
      } catch (error) {
        reportAsUncaught(error);
      }
    });
  }

  /** The records of each repeated id as they stand now. */
  #groupById(repeated: readonly Node[], arrived: readonly Node[]): RepeatedId<Node>[] {
    if (repeated.length === 0) return [];
    const ids = new Set(repeated.map((node) => node.id));
    const isArrived = new Set(arrived);
    return Array.from(ids, (id) => ({ id, nodes: this.tree.nodesWithId(id), arrived: isArrived }));
  }

  async #findConflicts(repeated: readonly RepeatedId<Node>[]): Promise<IdConflict[]> {
    const conflicts: IdConflict[] = [];
    for (const { id, nodes, arrived } of repeated) {
      const jsons = new Set<string>();
      const jsonsBefore = new Set<string>();
      for (const node of nodes) {
        const json = await this.#readJsonIfReadable(node);
        if (json === undefined) continue;
        jsons.add(json);
        if (!arrived.has(node)) jsonsBefore.add(json);
      }
      if (jsons.size > Math.max(1, jsonsBefore.size)) conflicts.push({ id, jsons: [...jsons] });
    }
    return conflicts;
  }

  async #finish(): Promise<void> {
    await this.#appends.idle();
    await this.#written;
    await this.#notices.idle();
    this.#listeners.clear();
    this.#treeListeners.clear();
    await this.release();
  }
}

/** An id of which another record came. */
interface RepeatedId<Node> {
  readonly id: string;
  /** All its records, in log order. */
  readonly nodes: readonly Node[];
  /** What came with it; the rest was there before. */
  readonly arrived: ReadonlySet<Node>;
}

/** A listener that throws must not fail the append it is told of, nor keep the others from hearing. */
function callOrReport(call: () => void): void {
  try {
    call();
  } catch (error) {
    reportAsUncaught(error);
  }
}

/**
 * As event targets do, in browsers and in Node: the error is the application's, so it reaches its handler of uncaught
 * errors, which in Node ends the process unless there is one. Swallowing it would hide a view that no longer follows.
 */
function reportAsUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
