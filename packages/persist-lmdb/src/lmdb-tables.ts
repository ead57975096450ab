import { SessionError, type StoredUpdate } from "@coppice/core";
import { type Database, open, type RootDatabase, type RootDatabaseOptions } from "lmdb";

/*
 * The one file that knows where things stand in the LMDB environment. Four tables, so that a log costs nothing while
 * it is closed:
 *   catalog  ["layout"] -> number of this layout; ["revision"] -> counts commits (as the version number of the
 *            record); ["head", log] -> LogHead
 *   updates  [log, seq] -> bytes
 *   derived  [log, name] -> bytes
 *   values   key -> bytes
 */

/** Number of the layout above. A store with a greater one was written by a newer Coppice and is left alone. */
const layoutVersion = 1;

/**
 * Size of the pages of a new store. A 2 kB update does not fit a 4 kB page together with another and would get a page of its own: 2.1 bytes on disk per
 * byte, 1.4 with pages of 8 kB. Larger pages make a lone small append write more than they save.
 */
export const pageBytes = 8192;

/** Where a log stands. It outlives the log's deletion, so that a position is never given twice. */
export interface LogHead {
  /** The last position ever given; 0 when nothing was appended yet. */
  readonly lastSeq: number;
  /** Nothing stands in the log: it was deleted, or never written. */
  readonly isEmpty: boolean;
}

/** One change of a commit; `bytes: undefined` removes. */
export type Write =
  | { readonly kind: "head"; readonly log: string; readonly head: LogHead }
  | { readonly kind: "update"; readonly log: string; readonly seq: number; readonly bytes: Uint8Array | undefined }
  | { readonly kind: "derived"; readonly log: string; readonly name: string; readonly bytes: Uint8Array | undefined }
  | { readonly kind: "value"; readonly key: string; readonly bytes: Uint8Array | undefined };

/** The changes of one commit and the revision of the store they were worked out from. */
export interface Plan {
  readonly revision: number;
  readonly writes: readonly Write[];
}

/** What lmdb tells of a table; its types leave it out. */
interface PageCounts {
  readonly pageSize?: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

const metaPageCount = 2;

type CatalogKey = ["layout"] | ["revision"] | ["head", string];

/**
 * An open LMDB environment. Reads are synchronous and see the snapshot of the last `refresh` (at the latest that of
 * the turn); inside `commitLocked` they see the newest state. Errors are those of lmdb, with their numeric `code`.
 */
export class LmdbTables {
  readonly #root: RootDatabase;
  readonly #catalog: Database<number | LogHead, CatalogKey>;
  readonly #updates: Database<Uint8Array, [string, number]>;
  readonly #derived: Database<Uint8Array, [string, string]>;
  readonly #values: Database<Uint8Array, string>;

  private constructor(root: RootDatabase) {
    this.#root = root;
    this.#catalog = root.openDB("catalog", { encoding: "json", useVersions: true });
    this.#updates = root.openDB("updates", { encoding: "binary" });
    this.#derived = root.openDB("derived", { encoding: "binary" });
    this.#values = root.openDB("values", { encoding: "binary" });
  }

  /** Opens or makes the environment in an existing folder. Rejects with `version_mismatch` for a newer layout. */
  static async open(folder: string): Promise<LmdbTables> {
    const options: RootDatabaseOptions & { permissionsMode: number } = {
      noSubdir: false,
      permissionsMode: 0o600,
      pageSize: pageBytes,
      // Off: a commit then writes its pages, syncs them, and writes the root with O_DSYNC before any reader sees it
      // and before its promise settles. Overlapping sync shows data to other processes that is not durable yet.
      overlappingSync: false,
      // We group writes ourselves. lmdb's own batching makes a second promise per commit that nobody can catch.
      eventTurnBatching: false,
    };
    const root = open(folder, options);
    try {
      const tables = new LmdbTables(root);
      tables.#checkLayout(folder);
      return tables;
    } catch (error) {
      await root.close();
      throw error;
    }
  }

  #checkLayout(folder: string): void {
    const found = this.#catalog.get(["layout"]);
    if (found === layoutVersion) return;
    if (found !== undefined)
      throw new SessionError(
        "version_mismatch",
        `The store in ${folder} has layout ${JSON.stringify(found)}, this version knows ${layoutVersion}. Update Coppice to open it.`,
      );
    this.#root.transactionSync(() => {
      // Another process may have made the store between the look above and our lock.
      if (this.#catalog.get(["layout"]) !== undefined) return;
      this.#catalog.putSync(["layout"], layoutVersion, 0);
      this.#catalog.putSync(["revision"], 0, 1);
    });
  }

  /** Lets go of lmdb's cached read transaction; the next read sees every commit made until then, by any process. */
  refresh(): void {
    this.#root.resetReadTxn();
  }

  readRevision(): number {
    return this.#catalog.getEntry(["revision"])?.version ?? 0;
  }

  readHead(log: string): LogHead {
    const head = this.#catalog.get(["head", log]);
    return typeof head === "object" ? head : { lastSeq: 0, isEmpty: true };
  }

  /** Names of the logs that hold something, sorted by code unit. */
  listLogs(): string[] {
    const names: string[] = [];
    for (const { key, value } of this.#catalog.getRange({ start: ["head"], end: ["head", "\uffff"] })) {
      if (key[0] === "head" && typeof value === "object" && !value.isEmpty) names.push(key[1]);
    }
    return names;
  }

  /** Updates behind `after` in order, until `upTo` has been passed or the slice holds `maxBytes`; at least one. */
  readUpdates(log: string, after: number, upTo: number, maxBytes: number): StoredUpdate[] {
    const slice: StoredUpdate[] = [];
    let bytes = 0;
    for (const { key, value } of this.#updates.getRange({ start: [log, after + 1], end: [log, Infinity] })) {
      slice.push({ seq: key[1], update: toOwnBytes(value) });
      bytes += value.length;
      if (bytes >= maxBytes || key[1] >= upTo) break;
    }
    return slice;
  }

  /** Positions from `from` to `to`, both inclusive, at which an update stands. */
  listSeqs(log: string, from: number, to: number): number[] {
    const keys = this.#updates.getKeys({ start: [log, from], end: [log, to], inclusiveEnd: true });
    return [...keys].map((key) => key[1]);
  }

  listDerived(log: string): string[] {
    return [...this.#derived.getKeys({ start: [log], end: [log, "\uffff"] })].map((key) => key[1]);
  }

  readDerived(log: string, name: string): Uint8Array | undefined {
    return toOwnBytes(this.#derived.get([log, name]));
  }

  readValue(key: string): Uint8Array | undefined {
    return toOwnBytes(this.#values.get(key));
  }

  /**
   * Commits the plan if no other commit came after the revision it was worked out from; false, and nothing is
   * written, if one did. Settles when durable. The writer lock is held by lmdb's thread alone and never while this
   * thread is waited for, so a process that is busy or stopped does not hold up the others.
   */
  async commitIfUnchanged(plan: Plan): Promise<boolean> {
    return this.#catalog.ifVersion(["revision"], plan.revision, () => this.#write(plan));
  }

  /** Takes the writer lock, works out the plan, commits it durably; blocks this thread meanwhile. Returns the plan. */
  commitLocked<MadePlan extends Plan>(makePlan: () => MadePlan): MadePlan {
    return this.#root.transactionSync(() => {
      const plan = makePlan();
      this.#write(plan);
      return plan;
    });
  }

  /** Writes what is committed now, without the free pages in between, into another folder. */
  async copyTo(folder: string): Promise<void> {
    await this.#root.backup(folder, true);
  }

  /** Runs this with the writer lock held, seeing the newest state; it writes nothing. Blocks this thread meanwhile. */
  runLocked<Value>(run: () => Value): Value {
    return this.#root.transactionSync(run);
  }

  /** Whether another living process has the environment open, as far as it has read from it. */
  isReadByOthers(): boolean {
    this.#root.readerCheck(); // forgets those of processes that were killed
    const [, ...lines] = this.#root.readerList().trimEnd().split("\n");
    return lines.some((line) => Number.parseInt(line.trim(), 10) !== process.pid);
  }

  /** Bytes of the pages that hold something; the others were freed by earlier commits. */
  countUsedBytes(): number {
    let pages = metaPageCount;
    const tables = [this.#catalog, this.#updates, this.#derived, this.#values];
    const { root, free } = this.#root.getStats() as unknown as { root: PageCounts; free: PageCounts };
    for (const counts of [root, free, ...tables.map((table) => table.getStats() as unknown as PageCounts)]) {
      pages += counts.treeBranchPageCount + counts.treeLeafPageCount + counts.overflowPages;
    }
    return pages * (root.pageSize ?? pageBytes);
  }

  /** Safe while reads by others go on; nothing may be in flight here. */
  async close(): Promise<void> {
    await this.#root.close();
  }

  // The promises of single writes mean nothing here: that of the transaction around them covers them.
  #write(plan: Plan): void {
    for (const write of plan.writes) {
      if (write.kind === "head") void this.#catalog.put(["head", write.log], write.head, 0);
      else if (write.kind === "update") putOrRemove(this.#updates, [write.log, write.seq], write.bytes);
      else if (write.kind === "derived") putOrRemove(this.#derived, [write.log, write.name], write.bytes);
      else putOrRemove(this.#values, write.key, write.bytes);
    }
    void this.#catalog.put(["revision"], 0, plan.revision + 1);
  }
}

function putOrRemove<Key extends string | [string, string | number]>(
  table: Database<Uint8Array, Key>,
  key: Key,
  bytes: Uint8Array | undefined,
): void {
  void (bytes === undefined ? table.remove(key) : table.put(key, bytes));
}

/**
 * lmdb hands out Buffers; readers get plain bytes of their own. A Buffer with memory to itself is a copy already, and
 * copying it again would take a sixth of the time in which a long log opens; a small one may be part of a shared pool.
 */
function toOwnBytes(bytes: Uint8Array): Uint8Array;
function toOwnBytes(bytes: Uint8Array | undefined): Uint8Array | undefined;
function toOwnBytes(bytes: Uint8Array | undefined): Uint8Array | undefined {
  if (bytes === undefined) return undefined;
  return bytes.byteLength === bytes.buffer.byteLength ? new Uint8Array(bytes.buffer) : new Uint8Array(bytes);
}
