import {
  type EntryRecord,
  type IdSource,
  insertAt,
  parseEntryJson,
  parseHeaderJson,
  type Result,
  type SessionEntry,
  SessionError,
  type SessionHeader,
  type SessionMetadata,
  type ShownRun,
  TreeSessionStorage,
} from "@coppice/core";
import type * as Y from "yjs";
import { ArrivalOrder } from "./arrival-order.ts";
import { DeviceLeaf, findLastOfAll, type LeafLog, type OwnLeafStore } from "./device-leaf.ts";
import { createUnreadableEntry, EntryNode, entryToFields, headerToNode } from "./entry-node.ts";
import { IndexKeeper, type IndexSnapshotStore } from "./index-keeper.ts";
import type { IndexedRecord, IndexSnapshotReader, OtherRecord } from "./index-snapshot.ts";
import { OtherPositions } from "./other-positions.ts";
import { PayloadCache } from "./payload-cache.ts";
import {
  isNewer,
  MAX_RECORD_BYTES,
  type PreparedRecord,
  RecordCodec,
  type RecordContent,
  type RecordProblem,
} from "./record-codec.ts";
import type { RecordCrypto } from "./record-crypto.ts";
import type { RecordHeader } from "./record-header.ts";
import { type LogChange, type LogRecord, RecordLog } from "./record-log.ts";
import { RecordNumbers } from "./record-numbers.ts";
import { planResume, type ResumePlan, type ResumePolicy } from "./resume.ts";
import type { RoomKeys } from "./room-keys.ts";
import { SessionHeaderChoice } from "./session-header-choice.ts";
import { type SliceOptions, Slices } from "./slices.ts";

/** Type of the record that holds the session's header; not an entry. */
const HEADER_TYPE = "session";

/** JSON text of opened payloads that is kept, in bytes: a context of some thousand entries. */
const MAX_CACHED_BYTES = 16 * 1024 * 1024;

/** Records made ready at a time, in characters of JSON: an import need not fit into memory twice. */
const MAX_PREPARED_CHARS = 1024 * 1024;

/** What a session on a Yjs document is opened with. */
export interface YjsSessionStorageOptions {
  /** The doc of the session's room, with the local log already applied. It stays the caller's. */
  doc: Y.Doc;
  sessionId: string;
  /** Absent: an unsealed room. */
  keys?: RoomKeys | undefined;
  /** Keys the room had before; records that were sealed with one of them are shown too. */
  olderKeys?: readonly RoomKeys[] | undefined;
  /** This device; it stands in every record written here. */
  deviceId: string;
  /** Ids this device had before, newest first: where it stood under them, it stands. Default: none. */
  formerDeviceIds?: readonly string[] | undefined;
  /** False for a replica that attached and never completed a sync: it has no leaf and may not append. */
  synced: boolean;
  /** Settles when every update the doc has emitted so far is durable, rejects with a `SessionError`. Default: at once. */
  flushed?: (() => Promise<void>) | undefined;
  /** Default: the leaf of a device that has written nothing yet is forgotten on close. */
  ownLeaf?: OwnLeafStore | undefined;
  /** Milliseconds since 1970; default the system clock. */
  now?: (() => number) | undefined;
  /** Makes entry ids; default UUIDv7. */
  createId?: IdSource | undefined;
  /** Default: pure JavaScript. */
  crypto?: RecordCrypto | undefined;
  /** Where the index is kept between two opens; default nowhere: every open then opens every record's header. */
  indexSnapshot?: IndexSnapshotStore | undefined;
  /** In which order the doc's records arrived; whoever gives it has it follow the doc. Default: as they are found, then as they come. */
  arrivals?: ArrivalOrder | undefined;
  /** How opening a long log gives way to other work. */
  slices?: SliceOptions | undefined;
}

/** What of the log cannot be shown. */
export interface UnreadableCounts {
  /** Records that do not open: damaged, moved or copied here, of another key. */
  readonly damaged: number;
  /** Records of a later version of Coppice; an upgrade reads them. */
  readonly newer: number;
  /** Elements of the doc that are no records, and deleted ones. */
  readonly foreign: number;
  /** The first two, by reason. */
  readonly byProblem: { readonly [problem in RecordProblem]?: number };
}

/** An id that stands for different contents. The first in log order is shown. */
export interface EntryConflict {
  readonly id: string;
  /** Devices that wrote the copies, in log order. */
  readonly deviceIds: readonly string[];
}

/** A record written here: it need not be opened on its way back. */
interface WrittenRecord {
  readonly header: RecordHeader;
  readonly json: string;
  readonly entry: SessionEntry | undefined;
}

/** Records that became part of the log side by side, as the index has them. */
interface IndexedRun {
  readonly position: number;
  readonly indexed: readonly IndexedRecord[];
}

/**
 * A session in a Yjs document: one record per entry, sealed when the room has keys. Every append is one transaction of
 * the doc (a batch: as many as its size needs) and settles when `flushed` does; a rejection from there means that the
 * entry is in the doc but not known to be durable, so it must not be appended again. SPEC YS.
 */
export class YjsSessionStorage extends TreeSessionStorage<EntryNode> {
  readonly #options: YjsSessionStorageOptions;
  readonly #codec: RecordCodec;
  #log: RecordLog;
  #header: SessionHeaderChoice;
  #deviceId: string;
  #deviceLeaf: DeviceLeaf;
  #numbers = new RecordNumbers();
  readonly #entryCache = new PayloadCache<EntryNode, SessionEntry>(MAX_CACHED_BYTES);
  readonly #writtenByBytes = new WeakMap<Uint8Array, WrittenRecord>();
  readonly #index: IndexKeeper;
  /** By position in the log. */
  #records: IndexedRecord[] = [];
  /** Where no entries stand. */
  #others = new OtherPositions();
  readonly #arrivals: ArrivalOrder;
  #stopArrivals: () => void;
  /** Ids of entries in order of arrival; undefined until somebody asks. */
  #arrivedIds: Set<string> | undefined;
  /** What the log has told and is not yet in the index; undefined once the storage is open, when nothing waits. */
  #unread: LogChange[] | undefined = [];
  readonly #duplicateIds = new Set<string>();
  readonly #countByProblem = new Map<RecordProblem, number>();
  #isSynced: boolean;
  /** Whether this open has written; from then on its leaf is its own. */
  #hasWritten = false;
  /** Where this replica stands while it looks elsewhere. */
  #place: { leafId: string | null } | undefined;
  #ownWriteCount = 0;
  #isClosed = false;

  /**
   * Opens the session as the doc has it when this settles. A long log is read in slices that give way to other work;
   * the doc may change meanwhile. Nothing is written, except to `ownLeaf` the leaf of a new device.
   */
  static async open(options: YjsSessionStorageOptions): Promise<YjsSessionStorage> {
    const storage = new YjsSessionStorage(options);
    try {
      await storage.#readLog();
    } catch (error) {
      storage.#detach();
      throw error;
    }
    return storage;
  }

  private constructor(options: YjsSessionStorageOptions) {
    const { doc, sessionId, keys, olderKeys, crypto, synced, createId, now } = options;
    super({
      metadata: { id: sessionId, createdAt: "" },
      ...(createId === undefined ? {} : { createId }),
      ...(now === undefined ? {} : { now }),
    });
    this.#options = options;
    this.#codec = new RecordCodec({ sessionId, keys, olderKeys, crypto });
    this.#header = new SessionHeaderChoice(sessionId);
    this.#deviceId = options.deviceId;
    this.#deviceLeaf = new DeviceLeaf(options.deviceId, options.ownLeaf, options.formerDeviceIds);
    this.#isSynced = synced;
    this.#index = new IndexKeeper(options.indexSnapshot, { sessionId, keys, crypto }, options.slices ?? {});
    this.#arrivals = options.arrivals ?? new ArrivalOrder();
    // Before the log: a change is told when its arrival is known.
    this.#stopArrivals = options.arrivals === undefined ? this.#arrivals.follow(doc) : () => undefined;
    this.#log = new RecordLog(doc, (change) => this.#takeChange(change));
  }

  /**
   * Writes the session's header, given as exact JSON text; the replica then counts as synced. Settles as an append
   * does; the same text again writes nothing. Rejects with `invalid_session` when the text is no header of this
   * session, when the log has another one, and when it holds records of another key.
   */
  async create(headerJson: string): Promise<void> {
    const { sessionId } = this.#options;
    const deviceId = this.#deviceId;
    if (this.#isClosed) throw new SessionError("closed", "The session storage is closed");
    const parsed = parseHeaderJson(headerJson);
    if (!parsed.ok) throw new SessionError("invalid_session", `Not a session header: ${parsed.error.message}`);
    const { id, timestamp } = parsed.value;
    if (id !== sessionId) {
      throw new SessionError("invalid_session", `The header is of session ${id}, not of ${sessionId}`);
    }
    if (this.#header.json === undefined) {
      if (this.#countByProblem.has("other_key") || this.#countByProblem.has("no_key")) this.#requireHeader();
      this.#hasWritten = true;
      const n = this.#numbers.next(this.#log.recordCount);
      const fields = { id, parentId: null, type: HEADER_TYPE, timestamp, deviceId, n };
      this.#log.append([this.#prepare({ ...fields, json: headerJson })]);
    } else if (this.#header.json !== headerJson) {
      throw new SessionError("invalid_session", `Session ${id} has another header already`);
    }
    this.markSynced();
    await this.#flush();
  }

  /**
   * Goes on with another doc of the same room, at once. Records that had to leave the log, given with the places they
   * were sealed for, are appended to it again as they were (same text, device and `n`), except those that the doc says
   * already. The leaf stays, and what is appended again counts as arrived now; subscribers are told only of entries that
   * were not there before. Returns the records that do not open. They are in the doc when the call returns; `flushed` is not waited for. Throws `closed`.
   */
  rebase(doc: Y.Doc, setAside: readonly LogRecord[]): readonly LogRecord[] {
    if (this.#isClosed) throw new SessionError("closed", "The session storage is closed");
    const readBefore = new Map(this.#records.map((indexed) => [placeKey(indexed.record), indexed]));
    const unreadable: LogRecord[] = [];
    const [place, ownWriteCount] = [this.#place, this.#ownWriteCount];
    this.#detach();
    this.#arrivedIds = undefined;
    if (this.#options.arrivals === undefined) {
      this.#arrivals.forget(findFirstClocks(setAside));
      this.#stopArrivals = this.#arrivals.follow(doc);
    }
    this.showAnew(() => {
      this.#header = new SessionHeaderChoice(this.#options.sessionId);
      this.#deviceLeaf.forgetLog();
      this.#numbers = new RecordNumbers();
      this.#records = [];
      this.#others = new OtherPositions();
      this.#duplicateIds.clear();
      this.#countByProblem.clear();
      this.#unread = [];
      this.#log = new RecordLog(doc, (change) => this.#takeChange(change));
      const found = this.#unread.flatMap(({ runs }) => runs);
      this.#unread = undefined;
      for (const { position, records } of found) {
        const indexed = records.map((record) =>
          this.#indexRecord(record, toIndexedAgain(record, readBefore.get(placeKey(record)))),
        );
        this.#insert([{ position, indexed }], false);
      }
      this.#appendContents(this.#openSetAside(setAside, unreadable));
    });
    // Nobody has appended anything: who looks elsewhere goes on looking there.
    this.#place = place;
    this.#ownWriteCount = ownWriteCount;
    this.#index.setCovered(0);
    if (this.#isSynced) this.#deviceLeaf.settle(this.#leafLog());
    return unreadable;
  }

  /** What records say that the log does not, one after the other; those that do not open go to `unreadable`. */
  *#openSetAside(setAside: readonly LogRecord[], unreadable: LogRecord[]): Generator<RecordContent> {
    for (const record of setAside) {
      const header = this.#codec.openHeader(record.bytes, record);
      const json = header.ok ? this.#codec.openPayload(record.bytes, record, header.value) : header;
      if (!header.ok || !json.ok || header.value.id === "") {
        unreadable.push(record);
        continue;
      }
      const isKnown =
        header.value.type === HEADER_TYPE
          ? this.#header.json === json.value
          : this.tree.nodesWithId(header.value.id).some((node) => this.#isText(node, json.value));
      if (!isKnown) yield { ...header.value, json: json.value };
    }
  }

  #isText(node: EntryNode, json: string): boolean {
    const payload = this.#openPayload(node);
    return payload.ok && payload.value === json;
  }

  /** Says that the replica has had a complete sync: it gets its leaf and may append. Safe to call again. */
  markSynced(): void {
    if (this.#isSynced && this.#deviceLeaf.isSettled) return;
    this.#isSynced = true;
    this.#settleLeaf();
  }

  /** As the session's header says. Rejects with `not_synced` until it has arrived, `invalid_session` when none opens. */
  override async getMetadata(): Promise<SessionMetadata> {
    const { id, timestamp, cwd, parentSession, metadata } = this.#requireHeader();
    return {
      id,
      createdAt: timestamp,
      cwd,
      ...(parentSession === undefined ? {} : { parentSessionPath: parentSession }),
      ...(metadata === undefined ? {} : { metadata }),
    };
  }

  /** As in the contract; also rejects with `not_synced`. */
  override async getLeafId(): Promise<string | null> {
    this.#requireSynced();
    return super.getLeafId();
  }

  /** As in the contract; entries whose content cannot be read are left out. */
  override async findEntries<Type extends SessionEntry["type"]>(
    type: Type,
  ): Promise<Extract<SessionEntry, { type: Type }>[]> {
    return (await super.findEntries(type)).filter((entry) => entry.type === type);
  }

  /** The exact text of the session's header; undefined while there is none. */
  getHeaderJson(): string | undefined {
    return this.#header.json;
  }

  /** The leaf of this replica now; null also while it has none. */
  getReplicaLeaf(): string | null {
    return this.#isSynced ? this.leafId : null;
  }

  /**
   * Shows another place for a while, as one does who follows another device: `getLeafId` and the next append go by it,
   * and nothing is written, so that the place of the device stays what it was. It ends with `lookBack` and with the
   * first append or move, which makes the place of that one the leaf. False, and nothing happens, for an entry that has
   * not arrived and while the replica has no leaf.
   */
  lookAt(leafId: string | null): boolean {
    if (!this.#isSynced || (leafId !== null && !this.tree.has(leafId))) return false;
    this.#place ??= { leafId: this.leafId };
    this.leafId = leafId;
    return true;
  }

  /** Goes back from a look elsewhere to where this replica stands. */
  lookBack(): void {
    if (this.#place === undefined) return;
    this.leafId = this.#place.leafId;
    this.#place = undefined;
  }

  /** From now on only this replica moves its leaf, as after a write: an agent that runs here must not be redirected. */
  holdLeaf(): void {
    this.#hasWritten = true;
    this.#place = undefined;
  }

  /**
   * The device goes by another id from now on, for what it writes and for what counts as its own: the folder it lives in
   * was copied, and another device has the old id. It keeps its place, and what it wrote so far stays as it is.
   */
  takeDeviceId(deviceId: string): void {
    if (deviceId === this.#deviceId) return;
    const log = this.#leafLog();
    const leafId = this.getDeviceLeaf();
    const formerIds = [this.#deviceId, ...(this.#options.formerDeviceIds ?? [])];
    this.#deviceId = deviceId;
    this.#deviceLeaf = new DeviceLeaf(deviceId, this.#options.ownLeaf, formerIds);
    this.#deviceLeaf.addNodes(
      log.nodes.filter((node) => node !== undefined),
      this.#records.length,
    );
    // The old id may be at work elsewhere already; what it does there must not count here any more.
    if (this.#isSynced) this.#deviceLeaf.settleAt(leafId, findLastOfAll(log)?.id);
  }

  /** False for a replica that attached and has not had a complete sync yet: it has no leaf. */
  get isPlaced(): boolean {
    return this.#isSynced;
  }

  /** Where this replica stands, whatever it looks at; null also while it has no leaf. */
  getPlace(): string | null {
    return this.#place === undefined ? this.getReplicaLeaf() : this.#place.leafId;
  }

  /** How many transactions this open has written. */
  get ownWriteCount(): number {
    return this.#ownWriteCount;
  }

  /**
   * The durable leaf of this device now: where its last record left it, whichever process wrote that. A process that
   * only syncs shows it as the device's cursor. Null also while the replica has none.
   */
  getDeviceLeaf(): string | null {
    return this.#isSynced ? this.#deviceLeaf.find(this.#leafLog()) : null;
  }

  /**
   * What resuming under a policy would do to this replica's leaf, as things stand; nothing is written. Moving there is
   * `setLeafId` as for any move. Throws `not_synced` while the replica has no leaf.
   */
  planResume(policy: ResumePolicy): ResumePlan {
    this.#requireSynced();
    const log = this.#leafLog();
    return planResume(policy, {
      deviceId: this.#deviceId,
      leafId: this.leafId,
      childrenOf: (id) => this.tree.children(id),
      isLater: (node) => this.#deviceLeaf.isLater(node, log, (id) => this.tree.get(id)),
      lastNode: () => findLastOfAll(log),
    });
  }

  /** The device that wrote an entry; undefined for an unknown id. */
  getAuthor(id: string): string | undefined {
    return this.tree.get(id)?.deviceId;
  }

  /** What of the log cannot be shown, counted. Entries whose payload alone does not open have the type `unreadable`. */
  getUnreadable(): UnreadableCounts {
    let [damaged, newer] = [0, 0];
    for (const [problem, count] of this.#countByProblem) {
      if (isNewer(problem)) newer += count;
      else damaged += count;
    }
    const byProblem = Object.fromEntries(this.#countByProblem);
    return { damaged, newer, foreign: this.#log.foreignCount, byProblem };
  }

  /** Ids that stand for different contents. Opens the payload of every duplicate; identical copies are no conflict. */
  async getConflicts(): Promise<EntryConflict[]> {
    const conflicts: EntryConflict[] = [];
    for (const id of this.#duplicateIds) {
      const nodes = this.tree.nodesWithId(id);
      const texts = new Set<string>();
      for (const node of nodes) {
        const payload = this.#openPayload(node);
        if (payload.ok) texts.add(payload.value);
      }
      if (texts.size > 1) conflicts.push({ id, deviceIds: nodes.map((node) => node.deviceId) });
    }
    return conflicts;
  }

  /** Ids of entries whose parent has not arrived, in log order. */
  getWaiting(): string[] {
    return this.tree.waiting().map((node) => node.id);
  }

  /** True while the doc holds updates back whose predecessors have not arrived. */
  get isWaiting(): boolean {
    return this.#log.isWaiting;
  }

  override async getEntryJson(id: string): Promise<string | undefined> {
    const node = this.tree.get(id);
    if (node === undefined) return undefined;
    const payload = this.#openFirstCopy(node);
    return payload.ok ? payload.value : this.readJson(node);
  }

  protected override async writeRecords(records: readonly EntryRecord[]): Promise<void> {
    this.#requireSynced();
    this.#requireHeader();
    this.#checkRecords(records);
    this.#hasWritten = true;
    const deviceId = this.#deviceId;
    let n = this.#numbers.next(this.#log.recordCount);
    this.#appendContents(
      records.map((record) => ({
        ...entryToFields(record, deviceId, n++),
        json: record.json,
        entry: record.entry,
      })),
    );
    await this.#flush();
  }

  #appendContents(contents: Iterable<RecordContent & { readonly entry?: SessionEntry }>): void {
    let prepared: PreparedRecord[] = [];
    let chars = 0;
    for (const { entry, ...content } of contents) {
      prepared.push(this.#prepare(content, entry));
      chars += content.json.length;
      if (chars < MAX_PREPARED_CHARS) continue;
      this.#log.append(prepared);
      prepared = [];
      chars = 0;
    }
    this.#log.append(prepared);
  }

  protected override readJson(node: EntryNode): string {
    const payload = this.#openPayload(node);
    if (payload.ok) return payload.value;
    throw new SessionError(
      isNewer(payload.error) ? "version_mismatch" : "invalid_entry",
      `The content of entry ${node.id} cannot be read: ${payload.error}`,
    );
  }

  protected override readEntry(node: EntryNode): SessionEntry {
    const cached = this.#entryCache.get(node);
    if (cached !== undefined) return cached;
    const payload = this.#openFirstCopy(node);
    const entry = payload.ok ? parseEntryOf(node, payload.value) : undefined;
    if (entry === undefined) return createUnreadableEntry(node, payload.ok ? "malformed" : payload.error);
    this.#entryCache.set(node, entry, node.jsonBytes);
    return entry;
  }

  protected override nodesByArrival(): readonly EntryNode[] {
    this.#arrivedIds ??= new Set(this.#sortByArrival(this.tree.allNodes()).map((node) => node.id));
    return Array.from(this.#arrivedIds, (id) => this.tree.get(id)).filter((node) => node !== undefined);
  }

  #sortByArrival(nodes: readonly EntryNode[]): EntryNode[] {
    return this.#arrivals.sort(nodes, (node) => node.record);
  }

  #detach(): void {
    this.#log.close();
    this.#stopArrivals();
  }

  /** Also rejects when the leaf of a new device could not be stored. */
  protected override async release(): Promise<void> {
    this.#isClosed = true;
    this.#detach();
    await this.#index.finish(this.#records);
    await this.#deviceLeaf.saved();
  }

  /** Takes the log into the index, with the snapshot's help, and with it whatever arrives while that lasts. */
  async #readLog(): Promise<void> {
    const slices = new Slices(this.#options.slices);
    let snapshot = await this.#index.read(slices);
    let takenCount = 0;
    const take = (record: LogRecord): EntryNode | RecordProblem | undefined => {
      try {
        const taken = snapshot?.take(record);
        if (taken !== undefined) takenCount++;
        return taken;
      } catch {
        // Sealed by this device and yet not what it should be: derived data of no use.
        snapshot = undefined;
        return undefined;
      }
    };
    for (let change = this.#unread?.shift(); change !== undefined; change = this.#unread?.shift()) {
      for (const { position, records } of change.runs) await this.#takeInSlices(position, records, take, slices);
      // It speaks of the log as it was found; what came later stands elsewhere.
      snapshot = undefined;
    }
    this.#unread = undefined;
    this.#index.setCovered(takenCount);
    this.#index.noteGrowth(this.#records);
    if (this.#isSynced) this.#settleLeaf();
  }

  async #takeInSlices(
    position: number,
    records: readonly LogRecord[],
    take: IndexSnapshotReader["take"],
    slices: Slices,
  ): Promise<void> {
    let start = 0;
    let indexed: IndexedRecord[] = [];
    for (const record of records) {
      indexed.push(this.#indexRecord(record, take(record)));
      if (!slices.isOver) continue;
      this.#insert([{ position: position + start, indexed }], false);
      start += indexed.length;
      indexed = [];
      await slices.next();
    }
    if (indexed.length > 0) this.#insert([{ position: position + start, indexed }], false);
  }

  #takeChange(change: LogChange): void {
    if (this.#unread !== undefined) {
      this.#unread.push(change);
      return;
    }
    const { runs } = change;
    const isOwn = runs.every(({ records }) => records.every(({ bytes }) => this.#writtenByBytes.has(bytes)));
    if (isOwn) {
      this.#ownWriteCount++;
      this.#place = undefined;
    }
    const indexedRuns = runs.map(({ position, records }) => ({
      position,
      indexed: records.map((record) => this.#indexRecord(record)),
    }));
    const hasOwn = this.#insert(indexedRuns, isOwn);
    if (this.#isSynced && (hasOwn || !this.#deviceLeaf.isSettled)) this.#settleLeaf();
    this.#index.noteGrowth(this.#records);
  }

  /** Puts records at their positions and shows the entries among them. True when some are of this device. */
  #insert(runs: readonly IndexedRun[], isOwn: boolean): boolean {
    const shownRuns: ShownRun<EntryNode>[] = [];
    for (const { position, indexed } of runs) {
      const at = position - this.#others.countBefore(position);
      this.#others.insert(position, indexed, isNode);
      insertAt(this.#records, position, indexed);
      shownRuns.push({ nodes: indexed.filter(isNode), at });
    }
    const recordCount = this.#log.recordCount;
    this.tree.recordCount = recordCount;
    const nodes = shownRuns.length === 1 ? (shownRuns[0]?.nodes ?? []) : shownRuns.flatMap((run) => run.nodes);
    if (nodes.length === 0) return false;
    if (this.#arrivedIds !== undefined) for (const { id } of this.#sortByArrival(nodes)) this.#arrivedIds.add(id);
    for (const { duplicateOf } of this.show(shownRuns, !isOwn)) {
      if (duplicateOf !== undefined) this.#duplicateIds.add(duplicateOf.id);
    }
    return this.#deviceLeaf.addNodes(nodes, recordCount);
  }

  /** What a record is to the index, as a snapshot has it or by opening it. What cannot be read is counted. */
  #indexRecord(record: LogRecord, taken?: EntryNode | RecordProblem): IndexedRecord {
    if (taken instanceof EntryNode) {
      this.#numbers.add(taken.rank);
      return taken;
    }
    if (taken !== undefined) return this.#countProblem(record, taken);
    const written = this.#writtenByBytes.get(record.bytes);
    const opened = written ? succeed(written.header) : this.#codec.openHeader(record.bytes, record);
    if (!opened.ok) return this.#countProblem(record, opened.error);
    const header = opened.value;
    this.#numbers.add(header.n);
    if (header.type === HEADER_TYPE) return this.#indexHeaderRecord(record, header, written);
    if (header.id === "") return this.#countProblem(record, "malformed");
    const node = headerToNode(header, record);
    if (written?.entry !== undefined) this.#entryCache.set(node, written.entry, header.jsonBytes);
    return node;
  }

  /** Never taken from a snapshot, even as a problem: what it is depends on its payload as well. */
  #indexHeaderRecord(record: LogRecord, header: RecordHeader, written: WrittenRecord | undefined): OtherRecord {
    const payload = written ? succeed(written.json) : this.#codec.openPayload(record.bytes, record, header);
    if (!payload.ok) this.#countProblem(record, payload.error);
    else if (!this.#header.offer(payload.value)) this.#countProblem(record, "malformed");
    else this.#deviceLeaf.noteCreator(header.deviceId);
    return { record, problem: undefined };
  }

  #countProblem(record: LogRecord, problem: RecordProblem): OtherRecord {
    this.#countByProblem.set(problem, (this.#countByProblem.get(problem) ?? 0) + 1);
    return { record, problem };
  }

  /** The payload of a shown node or, when that does not open, of the first copy of the entry that does. */
  #openFirstCopy(node: EntryNode): Result<string, RecordProblem> {
    const payload = this.#openPayload(node);
    if (payload.ok || !this.#duplicateIds.has(node.id)) return payload;
    for (const copy of this.tree.nodesWithId(node.id)) {
      const opened = this.#openPayload(copy);
      if (opened.ok && parseEntryOf(node, opened.value) !== undefined) return opened;
    }
    return payload;
  }

  #openPayload(node: EntryNode): Result<string, RecordProblem> {
    return this.#codec.openPayload(node.record.bytes, node.record, node);
  }

  /** Decides the device's leaf anew; this replica stands there unless it has appended and so has a leaf of its own. */
  #settleLeaf(): void {
    const leafId = this.#deviceLeaf.settle(this.#leafLog());
    if (this.#hasWritten) return;
    if (this.#place === undefined) this.leafId = leafId;
    else this.#place = { leafId };
  }

  #leafLog(): LeafLog {
    const records = this.#records;
    return {
      // Made only when somebody looks: most leaves are found without.
      get nodes() {
        return records.map((record) => (record instanceof EntryNode ? record : undefined));
      },
      isKnown: (id) => this.tree.has(id),
    };
  }

  #prepare(content: RecordContent, entry?: SessionEntry): PreparedRecord {
    const prepared = this.#codec.prepareRecord(content);
    return {
      ...prepared,
      placeAt: (place) => {
        const bytes = prepared.placeAt(place);
        this.#writtenByBytes.set(bytes, { header: prepared.header, json: content.json, entry });
        return bytes;
      },
    };
  }

  /** Finds what would fail in the middle of a batch before any of it is written. */
  #checkRecords(records: readonly EntryRecord[]): void {
    for (const record of records) {
      if (record.entry.type === (HEADER_TYPE as string)) {
        throw new SessionError("invalid_entry", `Entry ${record.entry.id} is a session header; only create writes one`);
      }
      // Shorter ones fit in any case: 3 bytes a character at most, once in the payload and once in the header.
      if (record.json.length < MAX_RECORD_BYTES / 8) continue;
      this.#codec.prepareRecord({ ...entryToFields(record, this.#deviceId, 0), json: record.json });
    }
  }

  #requireSynced(): void {
    if (this.#isSynced) return;
    throw new SessionError(
      "not_synced",
      `Session ${this.#options.sessionId} has never been fetched completely by this device; connect it once`,
    );
  }

  #requireHeader(): SessionHeader {
    if (this.#header.header !== undefined) return this.#header.header;
    const { sessionId } = this.#options;
    const { damaged, newer } = this.getUnreadable();
    if (damaged + newer === 0) {
      throw new SessionError("not_synced", `The header of session ${sessionId} has not arrived yet`);
    }
    throw new SessionError(
      "invalid_session",
      `No header of session ${sessionId} can be read (${damaged + newer} records do not open): a wrong key, damage, or a newer version`,
    );
  }

  async #flush(): Promise<void> {
    await this.#options.flushed?.();
  }
}

function isNode(indexed: IndexedRecord): indexed is EntryNode {
  return indexed instanceof EntryNode;
}

function succeed<Value>(value: Value): Result<Value, never> {
  return { ok: true, value };
}

/** The entry in a payload, if it is the one its header speaks of. Otherwise some other program wrote the record. */
function parseEntryOf(node: EntryNode, json: string): SessionEntry | undefined {
  const parsed = parseEntryJson(json);
  if (!parsed.ok) return undefined;
  const { id, parentId, type } = parsed.value;
  return id === node.id && parentId === node.parentId && type === node.type ? parsed.value : undefined;
}

function placeKey({ clientId, clock }: LogRecord): string {
  return `${clientId}:${clock}`;
}

/** What was found out about this very record before; undefined when it has to be opened. */
function toIndexedAgain(record: LogRecord, before: IndexedRecord | undefined): EntryNode | RecordProblem | undefined {
  if (before === undefined || !isSameBytes(before.record.bytes, record.bytes)) return undefined;
  return before instanceof EntryNode ? new EntryNode(before, record) : before.problem;
}

function isSameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}

/** The first clock of each client id. */
function findFirstClocks(records: readonly LogRecord[]): Map<number, number> {
  const clocks = new Map<number, number>();
  for (const { clientId, clock } of records) clocks.set(clientId, Math.min(clock, clocks.get(clientId) ?? clock));
  return clocks;
}
