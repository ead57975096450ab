import type { SessionEntry, SessionStorage } from "@coppice/core";

/** What the ids of a foreign writer's entries begin with, those that its storage makes included. */
const FOREIGN_PREFIX = "foreign-";

/**
 * Makes ids for the storage of a foreign writer, so that its entries can be told from all others. Counts from 1.
 */
export function createForeignIds(): () => string {
  let lastNumber = 0;
  return () => `${FOREIGN_PREFIX}move-${++lastNumber}`;
}

/** Whether a foreign writer made an entry. */
export function isForeignId(id: string): boolean {
  return id.startsWith(FOREIGN_PREFIX);
}

/** Where a foreign writer appends. */
export interface ForeignWriterOptions {
  /** True: also below entries of others. Default false: a root of its own, so that nobody's children change. */
  readonly isBranchingOffOthers?: boolean;
}

/**
 * Another device in the same session that never rests: it appends, branches, labels and moves its own leaf, also to
 * entries of others. Its entries are of types that are in no statistic, and it names nothing but its own.
 */
export class ForeignWriter {
  readonly #storage: SessionStorage;
  readonly #isBranchingOffOthers: boolean;
  readonly #ownIds: string[] = [];
  readonly #otherIds: string[] = [];
  readonly #stop: () => void;
  #turns = 0;
  #written: Promise<void> = Promise.resolve();

  /** `storage`: the other device's, with ids from `createForeignIds`; it stays the caller's. */
  constructor(storage: SessionStorage, options: ForeignWriterOptions = {}) {
    this.#storage = storage;
    this.#isBranchingOffOthers = options.isBranchingOffOthers ?? false;
    this.#stop = storage.subscribe(({ added }) => {
      for (const { id } of added) if (!isForeignId(id)) this.#otherIds.push(id);
    });
  }

  /** Entries written so far. */
  get entryCount(): number {
    return this.#turns;
  }

  /** Starts to write the next entry and does not wait for it. */
  write(): void {
    this.#written = this.#written.then(() => this.#writeNext());
    // `settle` reports it; until then it must not count as unhandled.
    this.#written.catch(() => undefined);
  }

  /** Settles when all that was started is written; rejects when some of it failed. */
  async settle(): Promise<void> {
    await this.#written;
  }

  /** As `settle`; nothing is heard of the session any more. */
  async close(): Promise<void> {
    await this.#written;
    this.#stop();
  }

  async #writeNext(): Promise<void> {
    const turn = ++this.#turns;
    if (turn % 4 === 0) return this.#storage.setLeafId(this.#pick(this.#otherIds, turn) ?? null);
    const id = `${FOREIGN_PREFIX}${turn}`;
    const base = { id, parentId: this.#pickParentId(turn), timestamp: "2026-01-01T00:00:00.000Z" };
    const targetId = this.#pick(this.#ownIds, turn);
    const entry: SessionEntry =
      turn % 7 === 0 && targetId !== undefined
        ? { ...base, type: "label", targetId, label: `label ${turn}` }
        : { ...base, type: "custom", customType: "foreign", data: { turn } };
    this.#ownIds.push(id);
    await this.#storage.appendEntry(entry);
  }

  /** Mostly the end of the own branch, now and then an older entry. */
  #pickParentId(turn: number): string | null {
    if (turn % 3 !== 0) return this.#ownIds.at(-1) ?? null;
    const others = this.#isBranchingOffOthers ? this.#otherIds : [];
    return this.#pick([...this.#ownIds, ...others], turn) ?? null;
  }

  #pick(ids: readonly string[], turn: number): string | undefined {
    return ids[(turn * 7_919) % Math.max(1, ids.length)];
  }
}
