import { type SliceOptions, Slices } from "@coppice/core";
import {
  INDEX_SNAPSHOT_VERSION,
  type IndexedRecord,
  IndexSnapshotReader,
  IndexSnapshotWriter,
} from "./index-snapshot.ts";
import { SealedIndex, type SealedIndexOptions } from "./sealed-index.ts";

/** Where the index snapshot of a session is kept: derived data, which may vanish at any time. */
export interface IndexSnapshotStore {
  /** What was written last, or undefined. */
  read(): Promise<Uint8Array | undefined>;
  /** Settles when it is written. */
  write(snapshot: Uint8Array): Promise<void>;
  /** Fewest new records that are worth a write when the session is closed, eight times as many while it is open; default 100. */
  readonly minNewRecords?: number | undefined;
}

/** Opening so many records without a snapshot takes about as long as reading one. */
const DEFAULT_MIN_NEW_RECORDS = 100;

/** The new records must also be this share of the log: a snapshot is always written as a whole. */
const NEW_SHARE_AT_CLOSE = 1 / 64;

/** Nobody waits for what is written in the background, but it takes its time from others. */
const BACKGROUND_FACTOR = 8;

/**
 * Keeps the index snapshot of one session: reads it at open, writes it again now and then and at close. One write at a
 * time, a slice at a time. Nothing of it is needed, so what goes wrong costs the next open time and nobody is told.
 */
export class IndexKeeper {
  readonly #store: IndexSnapshotStore | undefined;
  readonly #seal: SealedIndex;
  readonly #sliceOptions: SliceOptions;
  /** Records that the next open need not open, as far as is known. */
  #coveredCount = 0;
  #writing: Promise<void> | undefined;

  constructor(
    store: IndexSnapshotStore | undefined,
    options: Omit<SealedIndexOptions, "version">,
    sliceOptions: SliceOptions,
  ) {
    this.#store = store;
    this.#seal = new SealedIndex({ ...options, version: INDEX_SNAPSHOT_VERSION });
    this.#sliceOptions = sliceOptions;
  }

  /** The snapshot that is kept; undefined when there is none of this session, key and version. */
  async read(slices: Slices): Promise<IndexSnapshotReader | undefined> {
    try {
      const sealed = await this.#store?.read();
      const snapshot = sealed && (await this.#seal.open(sealed, slices));
      return snapshot && new IndexSnapshotReader(snapshot);
    } catch {
      // Derived data: opening the records gives the same.
      return undefined;
    }
  }

  /** Says how many records the snapshot that was read has turned out to cover. */
  setCovered(recordCount: number): void {
    this.#coveredCount = recordCount;
  }

  /** To be called after the log has grown; writes in the background when that is worth it. */
  noteGrowth(records: readonly IndexedRecord[]): void {
    if (this.#writing === undefined && this.#isDue(records, BACKGROUND_FACTOR)) this.#write(records);
  }

  /** Writes a last time if that is worth it; settles when nothing is on its way any more. Never rejects. */
  async finish(records: readonly IndexedRecord[]): Promise<void> {
    await this.#writing;
    if (this.#isDue(records, 1)) this.#write(records);
    await this.#writing;
  }

  #isDue(records: readonly IndexedRecord[], factor: number): boolean {
    const least = Math.max(
      this.#store?.minNewRecords ?? DEFAULT_MIN_NEW_RECORDS,
      this.#coveredCount * NEW_SHARE_AT_CLOSE,
    );
    return records.length - this.#coveredCount >= least * factor;
  }

  #write(records: readonly IndexedRecord[]): void {
    const store = this.#store;
    if (store === undefined) return;
    // The list goes on changing; what is in it does not.
    const written = this.#writeSlowly([...records], store).catch(() => {
      // Derived data. Counted as covered all the same, so that a store that fails is not asked at every record.
    });
    this.#coveredCount = records.length;
    this.#writing = written.finally(() => {
      this.#writing = undefined;
    });
  }

  async #writeSlowly(records: readonly IndexedRecord[], store: IndexSnapshotStore): Promise<void> {
    const slices = new Slices(this.#sliceOptions);
    // Not in the turn in which the log grew: that one has waited long enough.
    await slices.next();
    const writer = new IndexSnapshotWriter();
    for (const record of records) {
      writer.add(record);
      if (slices.isOver) await slices.next();
    }
    await store.write(await this.#seal.seal(writer.finish(), slices));
  }
}
