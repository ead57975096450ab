import {
  createNewerVersionError,
  type EntryRecord,
  insertAt,
  parseHeaderJson,
  type SessionEntry,
  SessionError,
  type SessionHeader,
  type SessionMetadata,
  type ShownRun,
  Slices,
  TreeSessionStorage,
} from "@coppice/core";
import type * as Y from "yjs";
import { ArrivalOrder } from "./arrival-order.ts";
import type { StoredLeaf } from "./device-leaf.ts";
import { EntryNode, entryToFields } from "./entry-node.ts";
import { EntryPayloads } from "./entry-payloads.ts";
import { IndexKeeper } from "./index-keeper.ts";
import type { IndexedRecord } from "./index-snapshot.ts";
import { findFirstClocks, OpenedBefore, openRecords } from "./moved-records.ts";
import { findNewBranches, type NewBranch } from "./new-branches.ts";
import { OtherPositions } from "./other-positions.ts";
import { type IndexedRun, readLogInSlices } from "./read-log-in-slices.ts";
import { MAX_RECORD_BYTES, type PreparedRecord, RecordCodec, type RecordContent } from "./record-codec.ts";
import { type LogChange, type LogRecord, RecordLog } from "./record-log.ts";
import { ReplicaLeaf } from "./replica-leaf.ts";
import type { ResumePlan, ResumePolicy } from "./resume.ts";
import type { RoomKeys } from "./room-keys.ts";
import { HEADER_TYPE, SessionRecords } from "./session-records.ts";
import { LiveTreeView, type SessionTreeView } from "./session-tree-view.ts";
import { encodeText } from "./text-codec.ts";
import type { UnreadableCounts } from "./unreadable-records.ts";
import type { YjsSessionStorageOptions } from "./yjs-storage-options.ts";

/** Records made ready at a time, in characters of JSON: an import need not fit into memory twice. */
const MAX_PREPARED_CHARS = 1024 * 1024;

/** An id that stands for different contents. The first in log order is shown. */
export interface EntryConflict {
  readonly id: string;
  /** Devices that wrote the copies, in log order. */
  readonly deviceIds: readonly string[];
}

/**
 * A session in a Yjs document: one record per entry, sealed when the room has keys. Every append is one transaction of
 * the doc (a batch: as many as its size needs) and settles when `flushed` does; a rejection from there means that the
 * entry is in the doc but not known to be durable, so it must not be appended again. SPEC YS.
 */
export class YjsSessionStorage extends TreeSessionStorage<EntryNode> {
  /** The tree for looking at, always the one of now; no content is opened for it. */
  readonly treeView: SessionTreeView = new LiveTreeView(() => this.tree);
  readonly #options: YjsSessionStorageOptions;
  readonly #codec: RecordCodec;
  readonly #payloads: EntryPayloads;
  readonly #sessionRecords: SessionRecords;
  readonly #leaf: ReplicaLeaf;
  readonly #index: IndexKeeper;
  readonly #arrivals: ArrivalOrder;
  #stopArrivals: () => void;
  #doc: Y.Doc;
  #log: RecordLog;
  /** By position in the log. */
  #records: IndexedRecord[] = [];
  /** Where no entries stand. */
  #others = new OtherPositions();
  /** Ids of entries in order of arrival; undefined until somebody asks. */
  #arrivedIds: Set<string> | undefined;
  /** What the log has told and is not yet in the index; undefined once the storage is open, when nothing waits. */
  #unread: LogChange[] | undefined = [];
  readonly #duplicateIds = new Set<string>();
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
    const { doc, sessionId, keys, olderKeys = [], crypto, createId, now } = options;
    super({
      metadata: { id: sessionId, createdAt: "" },
      ...(createId === undefined ? {} : { createId }),
      ...(now === undefined ? {} : { now }),
    });
    this.#options = options;
    this.#codec = new RecordCodec({ sessionId, keys, olderKeys, crypto });
    this.#payloads = new EntryPayloads(this.#codec, ({ id }) =>
      this.#duplicateIds.has(id) ? this.tree.nodesWithId(id) : [],
    );
    this.#leaf = new ReplicaLeaf(options, {
      getLeafId: () => this.leafId,
      setLeafId: (leafId) => {
        this.leafId = leafId;
      },
      getTree: () => this.tree,
      getRecords: () => this.#records,
    });
    this.#sessionRecords = new SessionRecords({
      sessionId,
      codec: this.#codec,
      payloads: this.#payloads,
      noteCreator: (deviceId) => this.#leaf.noteCreator(deviceId),
    });
    // The snapshot never leaves the device: under the first key it stays readable when the room gets another.
    const indexSeal = { sessionId, keys: olderKeys.at(-1) ?? keys, crypto };
    this.#index = new IndexKeeper(options.indexSnapshot, indexSeal, options.slices ?? {});
    this.#arrivals = options.arrivals ?? new ArrivalOrder();
    this.#arrivals.forgetMissing(doc);
    // Before the log: a change is told when its arrival is known.
    this.#stopArrivals = options.arrivals === undefined ? this.#arrivals.follow(doc) : () => undefined;
    this.#doc = doc;
    this.#log = new RecordLog(doc, (change) => this.#takeChange(change));
  }

  /**
   * Writes the session's header, given as exact JSON text; the replica then counts as synced. Settles as an append
   * does; the same text again writes nothing. Rejects with `invalid_session` when the text is no header of this
   * session, when the log has another one, and when it holds records of another key.
   */
  async create(headerJson: string): Promise<void> {
    const { sessionId } = this.#options;
    const records = this.#sessionRecords;
    if (this.#isClosed) throw new SessionError("closed", "The session storage is closed");
    const parsed = parseHeaderJson(headerJson);
    if (!parsed.ok) throw new SessionError("invalid_session", `Not a session header: ${parsed.error.message}`);
    const { id, timestamp } = parsed.value;
    if (id !== sessionId) {
      throw new SessionError("invalid_session", `The header is of session ${id}, not of ${sessionId}`);
    }
    if (records.headerJson === undefined) {
      if (records.unreadable.hasOtherKeys) this.#requireHeader();
      this.#leaf.noteWriting();
      const n = records.nextNumber(this.#log.recordCount);
      const { deviceId } = this.#leaf;
      const fields = { id, parentId: null, type: HEADER_TYPE, timestamp, deviceId, n };
      this.#log.append([records.prepare({ ...fields, json: headerJson })]);
    } else if (records.headerJson !== headerJson) {
      throw new SessionError("invalid_session", `Session ${id} has another header already`);
    }
    this.markSynced();
    await this.#flush();
  }

  /**
   * Goes on with another doc of the same room, at once. Records that had to leave the log, given with the places they
   * were sealed for, are appended to it again as they were (same text, device and `n`), except those that the doc says
   * already. The leaf stays; one that was opened while they were missing moves to where they leave the device. What is
   * appended again counts as arrived now; subscribers are told only of entries that were not there before. Returns the records that do not open. The others are in the doc when the call returns;
   * `flushed` is not waited for. Throws `closed`.
   */
  rebase(doc: Y.Doc, setAside: readonly LogRecord[]): readonly LogRecord[] {
    if (this.#isClosed) throw new SessionError("closed", "The session storage is closed");
    const unreadable: LogRecord[] = [];
    this.#detach();
    this.#arrivedIds = undefined;
    if (this.#options.arrivals === undefined) {
      this.#arrivals.forget(findFirstClocks(setAside));
      this.#stopArrivals = this.#arrivals.follow(doc);
    }
    this.#doc = doc;
    this.#showLogAnew(() => this.#appendContents(this.#leaveOutKnown(openRecords(setAside, this.#codec, unreadable))));
    return unreadable;
  }

  /**
   * Goes on with these keys of the room, at once: writes with the first of them and reads with all. Entries that could
   * not be read for want of a key are shown from now on, and told as new ones; the leaf stays. Of an unsealed room
   * nothing changes. Throws `closed`.
   */
  takeKeys(keys: readonly RoomKeys[]): void {
    if (this.#isClosed) throw new SessionError("closed", "The session storage is closed");
    if (!this.#codec.takeKeys(keys) || !this.#sessionRecords.unreadable.hasOtherKeys) return;
    this.#log.close();
    this.#showLogAnew(() => undefined);
  }

  /** Reads the doc's log again and does what is to be done with it before anybody sees it. */
  #showLogAnew(andThen: () => void): void {
    const openedBefore = new OpenedBefore(this.#records);
    this.#leaf.keepThrough(() =>
      this.showAnew(() => {
        this.#readAnew(this.#doc, openedBefore);
        andThen();
      }),
    );
    this.#index.setCovered(0);
    this.#leaf.settle();
  }

  #readAnew(doc: Y.Doc, openedBefore: OpenedBefore): void {
    this.#sessionRecords.forgetLog();
    this.#leaf.forgetLog();
    this.#records = [];
    this.#others = new OtherPositions();
    this.#duplicateIds.clear();
    this.#unread = [];
    this.#log = new RecordLog(doc, (change) => this.#takeChange(change));
    const found = this.#unread.flatMap(({ runs }) => runs);
    this.#unread = undefined;
    for (const { position, records } of found) {
      const indexed = records.map((record) => this.#sessionRecords.index(record, openedBefore.find(record)));
      this.#insert([{ position, indexed }], false);
    }
  }

  /** Of these contents those that the log, as it is when each is asked for, does not have. */
  *#leaveOutKnown(contents: Iterable<RecordContent>): Generator<RecordContent> {
    for (const content of contents) {
      const isKnown =
        content.type === HEADER_TYPE
          ? this.#sessionRecords.headerJson === content.json
          : this.tree.nodesWithId(content.id).some((node) => this.#payloads.isText(node, content.json));
      if (!isKnown) yield content;
    }
  }

  /** Says that the replica has had a complete sync: it gets its leaf and may append. Safe to call again. */
  markSynced(): void {
    this.#leaf.markSynced();
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
    this.#leaf.requireSynced();
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
    return this.#sessionRecords.headerJson;
  }

  /** The leaf of this replica now; null also while it has none. */
  getReplicaLeaf(): string | null {
    return this.#leaf.find();
  }

  /**
   * Stands at an entry (null: before the first one) without writing a `leaf` entry, as the device's leaf until its next
   * record: for a session whose entries were brought here, where the last of them is the place to go on. Settles when it
   * is durable; rejects with `not_synced`, and with `not_found` for an unknown entry.
   */
  async standAt(leafId: string | null): Promise<void> {
    if (leafId !== null && !this.tree.has(leafId)) throw new SessionError("not_found", `Entry ${leafId} not found`);
    this.#leaf.standAt(leafId);
    await this.#leaf.saved();
  }

  /**
   * Shows another place for a while, as one does who follows another device: `getLeafId` and the next append go by it,
   * and nothing is written, so that the place of the device stays what it was. It ends with `lookBack` and with the
   * first append or move, which makes the place of that one the leaf. False, and nothing happens, for an entry that has
   * not arrived and while the replica has no leaf.
   */
  lookAt(leafId: string | null): boolean {
    return this.#leaf.lookAt(leafId);
  }

  /** Goes back from a look elsewhere to where this replica stands. */
  lookBack(): void {
    this.#leaf.lookBack();
  }

  /** From now on only this replica moves its leaf, as after a write: an agent that runs here must not be redirected. */
  holdLeaf(): void {
    this.#leaf.hold();
  }

  /**
   * Stands where the device stands now, as a storage does that has just been opened: what other processes of the device
   * have written moves this one again until it writes itself. `stored` is what the device has stored by now. Nothing
   * happens while the replica has no leaf.
   */
  standWithDevice(stored: StoredLeaf | undefined): void {
    this.#leaf.standWithDevice(stored);
  }

  /**
   * The device goes by another id from now on, for what it writes and for what counts as its own: the folder it lives in
   * was copied, and another device has the old id. It keeps its place, and what it wrote so far stays as it is.
   */
  takeDeviceId(deviceId: string): void {
    this.#leaf.takeDeviceId(deviceId);
  }

  /** False for a replica that attached and has not had a complete sync yet: it has no leaf. */
  get isPlaced(): boolean {
    return this.#leaf.isPlaced;
  }

  /** Where this replica stands, whatever it looks at; null also while it has no leaf. */
  getPlace(): string | null {
    return this.#leaf.findPlace();
  }

  /** How many transactions this open has written. */
  get ownWriteCount(): number {
    return this.#leaf.ownWriteCount;
  }

  /**
   * The durable leaf of this device now: where its last record left it, whichever process wrote that. A process that
   * only syncs shows it as the device's cursor. Null also while the replica has none.
   */
  getDeviceLeaf(): string | null {
    return this.#leaf.findDeviceLeaf();
  }

  /**
   * What resuming under a policy would do to this replica's leaf, as things stand; nothing is written. Moving there is
   * `setLeafId` as for any move. Throws `not_synced` while the replica has no leaf.
   */
  planResume(policy: ResumePolicy): ResumePlan {
    return this.#leaf.planResume(policy);
  }

  /** Which of these entries, that a change has just added, have made the session branch; whoever wrote them. */
  findNewBranches(addedIds: Iterable<string>): NewBranch[] {
    const view = { get: (id: string) => this.tree.get(id), childrenOf: (id: string | null) => this.tree.children(id) };
    return findNewBranches(view, addedIds);
  }

  /** The device that wrote an entry; undefined for an unknown id. */
  getAuthor(id: string): string | undefined {
    return this.tree.get(id)?.deviceId;
  }

  /** What of the log cannot be shown, counted. Entries whose payload alone does not open have the type `unreadable`. */
  getUnreadable(): UnreadableCounts {
    return this.#sessionRecords.unreadable.count(this.#log.foreignCount);
  }

  /** Ids that stand for different contents. Opens the payload of every duplicate; identical copies are no conflict. */
  async getConflicts(): Promise<EntryConflict[]> {
    const conflicts: EntryConflict[] = [];
    for (const id of this.#duplicateIds) {
      const nodes = this.tree.nodesWithId(id);
      const texts = new Set<string>();
      for (const node of nodes) {
        const payload = this.#payloads.open(node);
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
    return node && this.#payloads.readFirstJson(node);
  }

  protected override async writeRecords(records: readonly EntryRecord[]): Promise<void> {
    this.#leaf.requireSynced();
    this.#requireHeader();
    this.#checkRecords(records);
    this.#leaf.noteWriting();
    const { deviceId } = this.#leaf;
    let n = this.#sessionRecords.nextNumber(this.#log.recordCount);
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
    for (const content of contents) {
      prepared.push(this.#sessionRecords.prepare(content, content.entry));
      chars += content.json.length;
      if (chars < MAX_PREPARED_CHARS) continue;
      this.#log.append(prepared);
      prepared = [];
      chars = 0;
    }
    this.#log.append(prepared);
  }

  protected override readJson(node: EntryNode): string {
    return this.#payloads.readJson(node);
  }

  protected override mayHold(node: EntryNode, json: string): boolean {
    return node.jsonBytes === encodeText(json).length;
  }

  protected override readEntry(node: EntryNode): SessionEntry {
    return this.#payloads.readEntry(node);
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
    await this.#leaf.saved();
  }

  /** Takes the log into the index, with the snapshot's help, and with it whatever arrives while that lasts. */
  async #readLog(): Promise<void> {
    const slices = new Slices(this.#options.slices);
    const snapshot = await this.#index.read(slices);
    const target = {
      index: this.#sessionRecords.index.bind(this.#sessionRecords),
      insert: (run: IndexedRun) => {
        this.#insert([run], false);
      },
    };
    const takenCount = await readLogInSlices(this.#unread ?? [], snapshot, target, slices);
    this.#unread = undefined;
    this.#index.setCovered(takenCount);
    this.#index.noteGrowth(this.#records);
    this.#leaf.settle();
  }

  #takeChange(change: LogChange): void {
    if (this.#unread !== undefined) {
      this.#unread.push(change);
      return;
    }
    const { runs } = change;
    const isOwn = runs.every(({ records }) => records.every((record) => this.#sessionRecords.isWritten(record)));
    if (isOwn) this.#leaf.noteOwnWrite();
    const indexedRuns = runs.map(({ position, records }) => ({
      position,
      indexed: records.map((record) => this.#sessionRecords.index(record)),
    }));
    this.#leaf.settleAfter(this.#insert(indexedRuns, isOwn));
    // A header, and what cannot be read, change what is said of the session.
    if (!indexedRuns.some(({ indexed }) => indexed.some(isNode))) this.tellTreeChange({ added: [], remote: !isOwn });
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
    return this.#leaf.addNodes(nodes, recordCount);
  }

  /** Finds what would fail in the middle of a batch before any of it is written. */
  #checkRecords(records: readonly EntryRecord[]): void {
    for (const record of records) {
      if (record.entry.type === (HEADER_TYPE as string)) {
        throw new SessionError("invalid_entry", `Entry ${record.entry.id} is a session header; only create writes one`);
      }
      // Shorter ones fit in any case: 3 bytes a character at most, once in the payload and once in the header.
      if (record.json.length < MAX_RECORD_BYTES / 8) continue;
      this.#codec.prepareRecord({ ...entryToFields(record, this.#leaf.deviceId, 0), json: record.json });
    }
  }

  #requireHeader(): SessionHeader {
    const { header } = this.#sessionRecords;
    if (header !== undefined) return header;
    const { sessionId } = this.#options;
    const { damaged, newer } = this.getUnreadable();
    if (damaged + newer === 0) {
      throw new SessionError("not_synced", `The header of session ${sessionId} has not arrived yet`);
    }
    if (damaged === 0) throw createNewerVersionError(`Session ${sessionId}`);
    throw new SessionError(
      "invalid_session",
      this.#sessionRecords.unreadable.hasOtherKeys
        ? `Session ${sessionId} is sealed with a key that is not known here; it can be read once the key has come`
        : `No header of session ${sessionId} can be read: ${damaged + newer} records do not open`,
    );
  }

  async #flush(): Promise<void> {
    await this.#options.flushed?.();
  }
}

function isNode(indexed: IndexedRecord): indexed is EntryNode {
  return indexed instanceof EntryNode;
}
