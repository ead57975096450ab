import { SessionError } from "@coppice/core";
import * as Y from "yjs";
import { ArrivalOrder } from "../../src/arrival-order.ts";
import type { StoredLeaf } from "../../src/device-leaf.ts";
import type { RoomKeys } from "../../src/room-keys.ts";
import { YjsSessionStorage } from "../../src/yjs-session-storage.ts";

interface LoggedUpdate {
  /** Rises with every update of the device, also across restarts. */
  readonly seq: number;
  readonly update: Uint8Array;
  /** Whether this device's own appends made it. */
  readonly isOwn: boolean;
}

/** What a device did or became, and the last update that has to be kept for it to have happened. */
interface Dated<Value> {
  readonly seq: number;
  readonly value: Value;
}

/**
 * A device of the simulation: a replica, its disk, its inbox, and the model of what is its own. Like the client, it
 * sends nothing that is not on its disk; like a disk, it keeps what was not flushed or loses it when it crashes.
 */
export class SimulatedDevice {
  readonly deviceId: string;
  /** Updates under way to this device. */
  inbox: Uint8Array[] = [];
  isOnline = false;
  isSynced: boolean;
  /** While true, flushing fails. */
  isDiskFailing = false;
  readonly #session: { readonly sessionId: string; readonly keys: RoomKeys | undefined };
  readonly #createId: () => string;
  #doc: Y.Doc | undefined;
  #storage: YjsSessionStorage | undefined;
  #log: LoggedUpdate[] = [];
  #lastSeq = 0;
  #durableSeq = 0;
  #sentSeq = 0;
  #storedLeaves: Dated<StoredLeaf>[] = [];
  #leaves: Dated<string | null>[] = [];
  #ownIds: Dated<string>[] = [];
  /** Beside the log, and not in step with it: after a crash it may speak of records that are lost. */
  #indexSnapshot: Uint8Array | undefined;
  #arrivals = new ArrivalOrder();
  /** The order of arrival as it was when the log was merged last: a merged update has none. */
  #storedArrivals: Uint8Array | undefined;
  /** What the log was merged into last. */
  mergedUpdate: Uint8Array | undefined;
  readonly #isIndexKept: boolean;
  snapshotsRead = 0;

  constructor(
    deviceId: string,
    session: { sessionId: string; keys: RoomKeys | undefined },
    createId: () => string,
    { isSynced, isIndexKept }: { isSynced: boolean; isIndexKept: boolean },
  ) {
    this.#isIndexKept = isIndexKept;
    this.deviceId = deviceId;
    this.#session = session;
    this.#createId = createId;
    this.isSynced = isSynced;
  }

  get doc(): Y.Doc {
    if (this.#doc === undefined) throw new Error(`${this.deviceId} is not open`);
    return this.#doc;
  }

  get storage(): YjsSessionStorage {
    if (this.#storage === undefined) throw new Error(`${this.deviceId} is not open`);
    return this.#storage;
  }

  /** Where this device's own work alone has left it; undefined while it has no place. */
  get leafId(): string | null | undefined {
    return this.#leaves.at(-1)?.value;
  }

  /** Ids of everything appended here that no crash has taken. */
  get ownIds(): string[] {
    return this.#ownIds.map(({ value }) => value);
  }

  /** Takes note of what the device has just done. Ids: those it wrote; a leaf, when it moved. */
  remember(done: { ids?: readonly string[]; leafId?: string | null }): void {
    for (const value of done.ids ?? []) this.#ownIds.push({ seq: this.#lastSeq, value });
    if (done.leafId !== undefined) this.#leaves.push({ seq: this.#lastSeq, value: done.leafId });
  }

  /** Opens the replica on what is on the disk. */
  async open(clientId: number): Promise<void> {
    const doc = new Y.Doc();
    doc.clientID = clientId;
    this.#arrivals = this.#readArrivals();
    this.#arrivals.follow(doc);
    for (const { update } of this.#log) Y.applyUpdate(doc, update, "log");
    doc.on("update", (update: Uint8Array, _origin: unknown, _doc: Y.Doc, { local }: Y.Transaction) => {
      this.#log.push({ seq: ++this.#lastSeq, update, isOwn: local });
    });
    this.#doc = doc;
    this.#storage = await YjsSessionStorage.open({
      ...this.#session,
      doc,
      deviceId: this.deviceId,
      synced: this.isSynced,
      flushed: async () => this.flush(),
      ownLeaf: {
        read: () => this.#storedLeaves.at(-1)?.value,
        write: async (value) => void this.#storedLeaves.push({ seq: this.#lastSeq, value }),
      },
      createId: this.#createId,
      arrivals: this.#arrivals,
      indexSnapshot: this.#isIndexKept
        ? {
            minNewRecords: 1,
            read: async () => {
              if (this.#indexSnapshot !== undefined) this.snapshotsRead++;
              return this.#indexSnapshot;
            },
            write: async (snapshot) => {
              this.#indexSnapshot = snapshot;
            },
          }
        : undefined,
    });
  }

  #readArrivals(): ArrivalOrder {
    if (this.#storedArrivals === undefined) return new ArrivalOrder();
    const arrivals = ArrivalOrder.decode(this.#storedArrivals);
    if (arrivals === undefined) throw new Error(`${this.deviceId} cannot read its order of arrival`);
    return arrivals;
  }

  /** Ids in the order in which their entries arrived here. */
  async readArrivedIds(): Promise<string[]> {
    return (await this.storage.getEntries({ afterEntrySeq: 0 })).map(({ id }) => id);
  }

  /** Closes the replica; everything is on the disk. */
  async close(): Promise<void> {
    this.flush();
    await this.#storage?.close();
    this.#goOffline();
  }

  /** Stops the replica; of what was not flushed only the first `keptCount` updates stay. Returns how many own entries are lost. */
  async crash(keptCount: number): Promise<number> {
    const flushed = this.#log.filter(({ seq }) => seq <= this.#durableSeq);
    this.#log = this.#log.slice(0, flushed.length + keptCount);
    await this.#storage?.close();
    const keptSeq = this.#log.at(-1)?.seq ?? 0;
    const isKept = ({ seq }: Dated<unknown>): boolean => seq <= keptSeq;
    const ownCount = this.#ownIds.length;
    this.#durableSeq = keptSeq;
    this.#storedLeaves = this.#storedLeaves.filter(isKept);
    this.#leaves = this.#leaves.filter(isKept);
    this.#ownIds = this.#ownIds.filter(isKept);
    this.#goOffline();
    return ownCount - this.#ownIds.length;
  }

  /** Updates that a crash may take. */
  get undurableCount(): number {
    return this.#log.filter(({ seq }) => seq > this.#durableSeq).length;
  }

  /** Puts everything on the disk. Throws `storage` while the disk fails. */
  flush(): void {
    if (this.isDiskFailing) throw new SessionError("storage", "The simulated disk takes nothing");
    this.#durableSeq = this.#lastSeq;
  }

  /** Own updates that are on the disk and have not been sent. */
  takeUnsent(): Uint8Array[] {
    const unsent = this.#log.filter(({ seq, isOwn }) => isOwn && seq > this.#sentSeq && seq <= this.#durableSeq);
    this.#sentSeq = this.#durableSeq;
    return unsent.map(({ update }) => update);
  }

  /** Merges what is on the disk into one update, as a log is compacted. */
  compact(): void {
    const flushed = this.#log.filter(({ seq }) => seq <= this.#durableSeq);
    const last = flushed.at(-1);
    if (last === undefined) return;
    this.#storedArrivals = this.#arrivals.encodeWithout(this.#firstUndurableClocks(flushed));
    const update = Y.mergeUpdates(flushed.map((logged) => logged.update));
    this.mergedUpdate = update;
    this.#log = [{ ...last, update, isOwn: false }, ...this.#log.slice(flushed.length)];
  }

  #firstUndurableClocks(flushed: readonly { update: Uint8Array }[]): Map<number, number> {
    const durable = new Y.Doc();
    for (const { update } of flushed) Y.applyUpdate(durable, update);
    const clientIds = [...this.doc.store.clients.keys()];
    return new Map(clientIds.map((clientId) => [clientId, Y.getState(durable.store, clientId)]));
  }

  receive(update: Uint8Array): void {
    Y.applyUpdate(this.doc, update, "remote");
  }

  #goOffline(): void {
    this.isOnline = false;
    this.inbox = [];
    // What was written and not sent goes out with the next connection.
    this.#sentSeq = this.#lastSeq;
  }
}
