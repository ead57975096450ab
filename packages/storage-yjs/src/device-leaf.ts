import type { EntryNode } from "./entry-node.ts";
import { judgeRank } from "./record-numbers.ts";

/** A device's leaf in one session as it is kept on the device. */
export interface StoredLeaf {
  readonly leafId: string | null;
  /** The device's own last record when this was stored; null: it had none. */
  readonly ownRecordId: string | null;
  /** Of a device that had no record of its own: the record of another that it took its place from. */
  readonly sinceRecordId?: string;
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
  /** Whether an entry has arrived. */
  isKnown(id: string): boolean;
}

/**
 * Where a device stands in a session, by its own records and what it has stored alone. A device that has neither
 * starts where the work of all ended, once, and stores that, so that what others append later does not move it.
 * SPEC YS, table "Leaf".
 */
export class DeviceLeaf {
  readonly #deviceId: string;
  readonly #store: OwnLeafStore | undefined;
  #stored: StoredLeaf | undefined;
  /** The device's record with the greatest (`n`, position); unless two processes of the device wrote at once. */
  #ownLast: EntryNode | undefined;
  #isOwnLastUnsure = false;
  #isSettled = false;
  #saved: Promise<void> = Promise.resolve();
  /** Set when the device turns out to have written the session's header. */
  isCreator = false;

  constructor(deviceId: string, store: OwnLeafStore | undefined) {
    this.#deviceId = deviceId;
    this.#store = store;
    this.#stored = store?.read();
  }

  /** False until `settle` was called with something to stand on: then what arrives first decides. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Takes note of entries new in the log. True when some are of this device. */
  addNodes(nodes: readonly EntryNode[], recordCount: number): boolean {
    let hasOwn = false;
    for (const node of nodes) {
      if (node.deviceId !== this.#deviceId) continue;
      hasOwn = true;
      const ahead = this.#ownLast === undefined ? 1 : compareRanks(node, this.#ownLast, recordCount);
      if (ahead > 0) this.#ownLast = node;
      if (ahead === 0) this.#isOwnLastUnsure = true;
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
    if (toStore !== undefined) {
      this.#stored = toStore;
      this.#saved = this.#store?.write(toStore) ?? Promise.resolve();
      // Whoever waits for `saved` hears of it; until then it must not count as unhandled.
      this.#saved.catch(() => undefined);
    }
    return leafId;
  }

  /** Settles when what was stored is durable; rejects as the store did. */
  async saved(): Promise<void> {
    await this.#saved;
  }

  #decide(log: LeafLog): { leafId: string | null; isSettled: boolean; toStore?: StoredLeaf } {
    const ownLast = this.#findOwnLast(log);
    const stored = this.#stored;
    const isAsNewAsLog = stored?.ownRecordId === (ownLast?.id ?? null);
    if (stored !== undefined && isAsNewAsLog && (stored.leafId === null || log.isKnown(stored.leafId))) {
      return { leafId: stored.leafId, isSettled: true };
    }
    if (ownLast !== undefined) return { leafId: leafEffect(ownLast), isSettled: true };
    if (this.isCreator) return { leafId: null, isSettled: true };
    const last = findLastOfAll(log);
    if (last === undefined) return { leafId: null, isSettled: false };
    const leafId = leafEffect(last);
    return { leafId, isSettled: true, toStore: { leafId, ownRecordId: null, sinceRecordId: last.id } };
  }

  /**
   * Whether a record came after the one that put the device where it stands: its own last one or, while it has none,
   * the one it took its place from. `find` looks an entry up.
   */
  isLater(node: EntryNode, log: LeafLog, find: (id: string) => EntryNode | undefined): boolean {
    const sinceId = this.#stored?.sinceRecordId ?? this.#stored?.leafId;
    const since = this.#findOwnLast(log) ?? (sinceId ? find(sinceId) : undefined);
    if (since === undefined) return true;
    const ahead = compareRanks(node, since, log.nodes.length);
    return ahead === 0 ? log.nodes.indexOf(node) > log.nodes.indexOf(since) : ahead > 0;
  }

  #findOwnLast(log: LeafLog): EntryNode | undefined {
    if (this.#isOwnLastUnsure) {
      this.#ownLast = findLastNode(log.nodes, (node) => node.deviceId === this.#deviceId);
      this.#isOwnLastUnsure = false;
    }
    return this.#ownLast;
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
