import { SessionError, type SessionTree } from "@coppice/core";
import { DeviceLeaf, findLastOfAll, type LeafLog, type OwnLeafStore, type StoredLeaf } from "./device-leaf.ts";
import { EntryNode } from "./entry-node.ts";
import type { IndexedRecord } from "./index-snapshot.ts";
import { planResume, type ResumePlan, type ResumePolicy } from "./resume.ts";

/** What the rules of a leaf see of the storage it belongs to, as it is at each call. */
export interface LeafView {
  /** Where the next append goes. */
  readonly getLeafId: () => string | null;
  readonly setLeafId: (leafId: string | null) => void;
  readonly getTree: () => SessionTree<EntryNode>;
  /** By position in the log. */
  readonly getRecords: () => readonly IndexedRecord[];
}

/** Whose leaf it is. */
export interface ReplicaLeafOptions {
  readonly sessionId: string;
  readonly deviceId: string;
  /** Newest first. */
  readonly formerDeviceIds?: readonly string[] | undefined;
  readonly ownLeaf?: OwnLeafStore | undefined;
  /** False for a replica that never completed a sync. */
  readonly synced: boolean;
}

/**
 * Where one open replica stands: at the leaf of its device until it has written, then at its own; and, while it looks
 * elsewhere, where it will go back to. A replica that never completed a sync stands nowhere.
 */
export class ReplicaLeaf {
  readonly #options: ReplicaLeafOptions;
  readonly #view: LeafView;
  #deviceId: string;
  #deviceLeaf: DeviceLeaf;
  #isSynced: boolean;
  /** Whether this open has written; from then on its leaf is its own. */
  #hasWritten = false;
  /** Where this replica stands while it looks elsewhere. */
  #place: { leafId: string | null } | undefined;
  #ownWriteCount = 0;

  constructor(options: ReplicaLeafOptions, view: LeafView) {
    const { deviceId, ownLeaf, formerDeviceIds, synced } = options;
    this.#options = options;
    this.#view = view;
    this.#deviceId = deviceId;
    this.#deviceLeaf = new DeviceLeaf(deviceId, ownLeaf, formerDeviceIds);
    this.#isSynced = synced;
  }

  /** The device as what it writes now names it. */
  get deviceId(): string {
    return this.#deviceId;
  }

  /** False for a replica that has not had a complete sync yet. */
  get isPlaced(): boolean {
    return this.#isSynced;
  }

  /** How many transactions this open has written. */
  get ownWriteCount(): number {
    return this.#ownWriteCount;
  }

  /** Throws `not_synced` while the replica has no leaf. */
  requireSynced(): void {
    if (this.#isSynced) return;
    throw new SessionError(
      "not_synced",
      `Session ${this.#options.sessionId} has never been fetched completely by this device; connect it once`,
    );
  }

  /** The replica has had a complete sync. Safe to call again. */
  markSynced(): void {
    if (this.#isSynced && this.#deviceLeaf.isSettled) return;
    this.#isSynced = true;
    this.settle();
  }

  /** The leaf now; null also while there is none. */
  find(): string | null {
    return this.#isSynced ? this.#view.getLeafId() : null;
  }

  /** Where the replica stands, whatever it looks at; null also while it has no leaf. */
  findPlace(): string | null {
    return this.#place === undefined ? this.find() : this.#place.leafId;
  }

  /** Where the last record of the device left it; null also while there is no leaf. */
  findDeviceLeaf(): string | null {
    return this.#isSynced ? this.#deviceLeaf.find(this.#log()) : null;
  }

  /** Stands at an entry that is here, or before the first one, without a record of it. `saved` tells when it is durable. */
  standAt(leafId: string | null): void {
    this.requireSynced();
    this.#place = undefined;
    this.#deviceLeaf.standAt(leafId, this.#log());
    this.#view.setLeafId(leafId);
  }

  /** Stands where the device stands, by its records and by what it has stored by now, until this open writes. */
  standWithDevice(stored: StoredLeaf | undefined): void {
    if (stored !== undefined) this.#deviceLeaf.takeStored(stored);
    this.#hasWritten = false;
    this.#place = undefined;
    this.settle();
  }

  /** Shows another place for a while. False, and nothing happens, when it has not arrived or there is no leaf. */
  lookAt(leafId: string | null): boolean {
    if (!this.#isSynced || (leafId !== null && !this.#view.getTree().has(leafId))) return false;
    this.#place ??= { leafId: this.#view.getLeafId() };
    this.#view.setLeafId(leafId);
    return true;
  }

  /** Goes back from a look elsewhere. */
  lookBack(): void {
    if (this.#place === undefined) return;
    this.#view.setLeafId(this.#place.leafId);
    this.#place = undefined;
  }

  /** From now on only this replica moves its leaf. */
  hold(): void {
    this.#hasWritten = true;
    this.#place = undefined;
  }

  /** Something is about to be written: whatever comes of it, the leaf is this open's own. */
  noteWriting(): void {
    this.#hasWritten = true;
  }

  /** A transaction of this open has become part of the log: its place is the leaf. */
  noteOwnWrite(): void {
    this.#ownWriteCount++;
    this.#place = undefined;
  }

  /** Changes the log in a way that nobody's append is: who looks elsewhere goes on looking there. */
  keepThrough(change: () => void): void {
    const [place, ownWriteCount] = [this.#place, this.#ownWriteCount];
    change();
    this.#place = place;
    this.#ownWriteCount = ownWriteCount;
  }

  /** The device goes by another id from now on, and keeps its place. */
  takeDeviceId(deviceId: string): void {
    if (deviceId === this.#deviceId) return;
    const log = this.#log();
    const leafId = this.findDeviceLeaf();
    const formerIds = [this.#deviceId, ...(this.#options.formerDeviceIds ?? [])];
    this.#deviceId = deviceId;
    this.#deviceLeaf = new DeviceLeaf(deviceId, this.#options.ownLeaf, formerIds);
    this.#deviceLeaf.addNodes(
      log.nodes.filter((node) => node !== undefined),
      this.#view.getRecords().length,
    );
    // The old id may be at work elsewhere already; what it does there must not count here any more.
    if (this.#isSynced) this.#deviceLeaf.settleAt(leafId, findLastOfAll(log)?.id);
  }

  /** What resuming under a policy would do. Throws `not_synced`. */
  planResume(policy: ResumePolicy): ResumePlan {
    this.requireSynced();
    const log = this.#log();
    const tree = this.#view.getTree();
    return planResume(policy, {
      deviceId: this.#deviceId,
      leafId: this.#view.getLeafId(),
      childrenOf: (id) => tree.children(id),
      isLater: (node) => this.#deviceLeaf.isLater(node, log, (id) => tree.get(id)),
      lastNode: () => findLastOfAll(log),
    });
  }

  /** Takes note of a device that wrote a header of the session. */
  noteCreator(deviceId: string): void {
    this.#deviceLeaf.noteCreator(deviceId);
  }

  /** Takes note of entries new in the log. True when some are of this device. */
  addNodes(nodes: readonly EntryNode[], recordCount: number): boolean {
    return this.#deviceLeaf.addNodes(nodes, recordCount);
  }

  /** To be called when entries have become part of the log: settles the leaf when that may have decided it. */
  settleAfter(hasOwn: boolean): void {
    if (this.#isSynced && (hasOwn || !this.#deviceLeaf.isSettled)) this.settle();
  }

  /** Decides the device's leaf anew; this replica stands there unless it has appended and so has a leaf of its own. */
  settle(): void {
    if (!this.#isSynced) return;
    const leafId = this.#deviceLeaf.settle(this.#log());
    if (this.#hasWritten) return;
    if (this.#place === undefined) this.#view.setLeafId(leafId);
    else this.#place = { leafId };
  }

  /** Forgets what the log held: it is about to be read anew. */
  forgetLog(): void {
    this.#deviceLeaf.forgetLog();
  }

  /** Settles when what was stored is durable; rejects as the store did. */
  saved(): Promise<void> {
    return this.#deviceLeaf.saved();
  }

  #log(): LeafLog {
    const records = this.#view.getRecords();
    const tree = this.#view.getTree();
    return {
      // Made only when somebody looks: most leaves are found without.
      get nodes() {
        return records.map((record) => (record instanceof EntryNode ? record : undefined));
      },
      recordCount: records.length,
      isKnown: (id) => tree.has(id),
    };
  }
}
