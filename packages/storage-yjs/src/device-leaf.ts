import type { EntryNode } from "./entry-node.ts";
import { judgeRank } from "./record-numbers.ts";

/** A device's leaf in one session as it is kept on the device. */
export interface StoredLeaf {
  readonly leafId: string | null;
  /** The device's own last record when this was stored; null: it had none. */
  readonly ownRecordId: string | null;
  /** Of a device that had no record of its own: the record of another that it took its place from. */
  readonly sinceRecordId?: string;
  /** The id the device had then, when it has had several; absent: its first. */
  readonly deviceId?: string;
}

/** Where a device keeps its leaf of a session. */
export interface OwnLeafStore {
  /** What was written last, or undefined. */
  read(): StoredLeaf | undefined;
  /** Settles when it is durable. */
  write(leaf: StoredLeaf): Promise<void>;
}

/** The log as the leaf rule sees it. */
export interface LeafLog {
  /** Entries by position, duplicates included; undefined where a record is no entry. */
  readonly nodes: readonly (EntryNode | undefined)[];
  /** How many records there are. */
  readonly recordCount: number;
  /** Whether an entry has arrived. */
  isKnown(id: string): boolean;
}

/**
 * Where a device stands in a session, by its own records and what it has stored alone. A device that has neither
 * starts where the work of all ended, once, and stores that, so that what others append later does not move it.
 * SPEC YS, table "Leaf".
 */
export class DeviceLeaf {
  /** The device's id, then the ids it had before, newest first. */
  readonly #deviceIds: readonly string[];
  readonly #store: OwnLeafStore | undefined;
  #stored: StoredLeaf | undefined;
  /** By device id, the record with the greatest (`n`, position); unless two processes of the device wrote at once. */
  readonly #lastByDevice = new Map<string, EntryNode>();
  #isLastUnsure = false;
  /** The smallest `n` of an own record that is too large for the log as it is: it counts once the log is that long. */
  #smallestOversized = Number.POSITIVE_INFINITY;
  #isSettled = false;
  #saved: Promise<void> = Promise.resolve();
  readonly #creatorIds = new Set<string>();

  /** `formerIds` are ids the device had before, newest first: where those left it, it stands. */
  constructor(deviceId: string, store: OwnLeafStore | undefined, formerIds: readonly string[] = []) {
    this.#deviceIds = [deviceId, ...formerIds];
    this.#store = store;
    this.#stored = store?.read();
  }

  /** Takes note of a device that wrote a header of the session: it stands before the first entry. */
  noteCreator(deviceId: string): void {
    this.#creatorIds.add(deviceId);
  }

  /** False until `settle` was called with something to stand on: then what arrives first decides. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Forgets what the log held: it is about to be told anew. What is stored stays. */
  forgetLog(): void {
    this.#lastByDevice.clear();
    this.#isLastUnsure = false;
    this.#smallestOversized = Number.POSITIVE_INFINITY;
    this.#creatorIds.clear();
  }

  /** Takes note of entries new in the log. True when some are of this device. */
  addNodes(nodes: readonly EntryNode[], recordCount: number): boolean {
    let hasOwn = false;
    for (const node of nodes) {
      if (!this.#deviceIds.includes(node.deviceId)) continue;
      hasOwn ||= node.deviceId === this.#deviceIds[0];
      this.#noteOversized(node, recordCount);
      const last = this.#lastByDevice.get(node.deviceId);
      const ahead = last === undefined ? 1 : compareRanks(node, last, recordCount);
      if (ahead > 0) this.#lastByDevice.set(node.deviceId, node);
      if (ahead === 0) this.#isLastUnsure = true;
    }
    return hasOwn;
  }

  /** The device's leaf now; null also while it has nothing to stand on. */
  find(log: LeafLog): string | null {
    return this.#isSettled ? this.#decide(log).leafId : null;
  }

  /** Decides, and stores what a new device must remember. `saved` reports how that went. */
  settle(log: LeafLog): string | null {
    const { leafId, isSettled, toStore } = this.#decide(log);
    this.#isSettled = isSettled;
    if (toStore !== undefined) this.#keep(toStore);
    return leafId;
  }

  /** Stores a place as that of the device, which goes by a new id from now on and has written nothing under it. */
  settleAt(leafId: string | null, sinceRecordId: string | undefined): void {
    this.#isSettled = true;
    this.#keep(this.#toStored(leafId, sinceRecordId));
  }

  /** Goes by what another process of the device has stored. */
  takeStored(stored: StoredLeaf): void {
    this.#stored = stored;
  }

  /** Stores a place as that of the device, until its next record. */
  standAt(leafId: string | null, log: LeafLog): void {
    this.#isSettled = true;
    const ownLast = this.#findLastOf(this.#deviceIds[0] ?? "", log);
    this.#keep({ ...this.#toStored(leafId, undefined), ownRecordId: ownLast?.id ?? null });
  }

  #keep(toStore: StoredLeaf): void {
    this.#stored = toStore;
    this.#saved = this.#store?.write(toStore) ?? Promise.resolve();
    // Whoever waits for `saved` hears of it; until then it must not count as unhandled.
    this.#saved.catch(() => undefined);
  }

  /** Settles when what was stored is durable; rejects as the store did. */
  async saved(): Promise<void> {
    await this.#saved;
  }

  #decide(log: LeafLog): { leafId: string | null; isSettled: boolean; toStore?: StoredLeaf } {
    for (const deviceId of this.#deviceIds) {
      const leafId = this.#findLeafOf(deviceId, log);
      if (leafId === undefined) continue;
      if (deviceId === this.#deviceIds[0]) return { leafId, isSettled: true };
      return { leafId, isSettled: true, toStore: this.#toStored(leafId, this.#findLastOf(deviceId, log)?.id) };
    }
    const last = findLastOfAll(log);
    if (last === undefined) return { leafId: null, isSettled: false };
    const leafId = leafEffect(last);
    return { leafId, isSettled: true, toStore: this.#toStored(leafId, last.id) };
  }

  /** Where the device stands by what it did under one of its ids; undefined: nothing. */
  #findLeafOf(deviceId: string, log: LeafLog): string | null | undefined {
    const last = this.#findLastOf(deviceId, log);
    const stored = this.#stored;
    const isOfThisId = (stored?.deviceId ?? this.#deviceIds.at(-1)) === deviceId;
    const isAsNewAsLog = isOfThisId && stored?.ownRecordId === (last?.id ?? null);
    if (stored !== undefined && isAsNewAsLog && (stored.leafId === null || log.isKnown(stored.leafId)))
      return stored.leafId;
    if (last !== undefined) return leafEffect(last);
    return this.#creatorIds.has(deviceId) ? null : undefined;
  }

  #toStored(leafId: string | null, sinceRecordId: string | undefined): StoredLeaf {
    const [deviceId, ...formerIds] = this.#deviceIds;
    return {
      leafId,
      ownRecordId: null,
      ...(sinceRecordId === undefined ? {} : { sinceRecordId }),
      ...(formerIds.length === 0 || deviceId === undefined ? {} : { deviceId }),
    };
  }

  /**
   * Whether a record came after the one that put the device where it stands: its own last one or, while it has none,
   * the one it took its place from. `find` looks an entry up.
   */
  isLater(node: EntryNode, log: LeafLog, find: (id: string) => EntryNode | undefined): boolean {
    const sinceId = this.#stored?.sinceRecordId ?? this.#stored?.leafId;
    const ownLast = this.#findLastOf(this.#deviceIds[0] ?? "", log);
    const since = ownLast ?? (sinceId ? find(sinceId) : undefined);
    if (since === undefined) return true;
    const { nodes } = log;
    const ahead = compareRanks(node, since, nodes.length);
    return ahead === 0 ? nodes.indexOf(node) > nodes.indexOf(since) : ahead > 0;
  }

  #findLastOf(deviceId: string, log: LeafLog): EntryNode | undefined {
    if (this.#isLastUnsure || log.recordCount >= this.#smallestOversized) {
      this.#smallestOversized = Number.POSITIVE_INFINITY;
      for (const each of this.#lastByDevice.keys()) {
        const last = findLastNode(log.nodes, (node) => {
          const isOwn = node.deviceId === each;
          if (isOwn) this.#noteOversized(node, log.recordCount);
          return isOwn;
        });
        if (last !== undefined) this.#lastByDevice.set(each, last);
      }
      this.#isLastUnsure = false;
    }
    return this.#lastByDevice.get(deviceId);
  }

  #noteOversized({ rank }: EntryNode, recordCount: number): void {
    if (rank > recordCount) this.#smallestOversized = Math.min(this.#smallestOversized, rank);
  }
}

/** The last record of all. One that points nowhere, by accident or malice, must not leave new devices without a place. */
export function findLastOfAll(log: LeafLog): EntryNode | undefined {
  return findLastNode(log.nodes, (node) => {
    const effect = leafEffect(node);
    return effect === null || log.isKnown(effect);
  });
}

/** The node with the greatest (`n`, position) among those that pass. A copy that is not shown counts: it is a record. */
function findLastNode(
  nodes: readonly (EntryNode | undefined)[],
  passes: (node: EntryNode) => boolean,
): EntryNode | undefined {
  let last: EntryNode | undefined;
  for (const node of nodes) {
    if (node === undefined || !passes(node)) continue;
    if (last === undefined || compareRanks(node, last, nodes.length) >= 0) last = node;
  }
  return last;
}

function compareRanks(a: EntryNode, b: EntryNode, recordCount: number): number {
  return judgeRank(a.rank, recordCount) - judgeRank(b.rank, recordCount);
}

/** The leaf after a record: its target for a `leaf` record, itself for every other. */
export function leafEffect(node: EntryNode): string | null {
  return node.type === "leaf" ? (node.targetId ?? null) : node.id;
}
