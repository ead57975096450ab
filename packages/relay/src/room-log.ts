import type { TaskQueue, UpdateLog } from "@coppice/core";
import { admitStructs, digestStateVector, type Struct } from "@coppice/wire";
import type { Logger } from "pino";
import { HeadKeeper } from "./head-keeper.ts";
import { encodeIndexSnapshot, type IndexSnapshot, indexSnapshotName } from "./index-snapshot.ts";
import type { LogHead } from "./log-head.ts";
import { type LogSlice, parseStoredUpdate, readLogSlice } from "./log-slice.ts";
import type { RelayLimits } from "./relay-limits.ts";
import type { RoomIndex } from "./room-index.ts";
import { RoomMerger } from "./room-merger.ts";
import { sha256 } from "./sha256.ts";
import { StoredSizes } from "./stored-sizes.ts";
import { TurnBudget } from "./turn-budget.ts";

/** What one reader of the log holds in memory at a time; one record may be larger. A few chunks, to read in larger pieces. */
const sliceBytes = 1024 * 1024;

/** The first piece of a catch-up: small, so that the reader has something while the rest is read. */
const firstSliceBytes = 128 * 1024;

/** After this many updates the index is written down; until then a room that is opened reads them. */
const updatesPerSnapshot = 2_000;
/** Fewer than this are read faster than a snapshot is worth writing. */
const minUpdatesPerSnapshot = 200;

/** What the log of a room works with. */
export interface RoomLogOptions {
  /** The room's name, for the relay's own report. */
  readonly name: string;
  readonly limits: RelayLimits;
  readonly logger: Logger;
  /** Where merging waits for its turn. */
  readonly mergeQueue: TaskQueue;
  /** Every reader that follows the log has got all up to here. */
  readonly lowestPosition: () => number;
  /** Called when a merge failed and it is unknown what stands in the log. */
  readonly onMergeFailure: (error: unknown) => void;
}

/**
 * What is durable of a room: its log, where in it every struct stands, and the merging of small stored updates. It
 * knows neither who writes nor who reads.
 */
export class RoomLog {
  readonly index: RoomIndex;
  readonly #log: UpdateLog;
  readonly #name: string;
  readonly #logger: Logger;
  readonly #sizes: StoredSizes;
  readonly #merger: RoomMerger;
  readonly #head: HeadKeeper;
  #headSeq: number;
  /** Position of the newest index snapshot. */
  #snapshotSeq: number;
  /** Merges that the newest index snapshot knows of. */
  #snapshotMergedCount = 0;
  #version = 0;
  #digest: { readonly version: number; readonly bytes: Uint8Array } | undefined;
  /** Readings under way that remember positions. */
  #readings = 0;

  /** @param snapshot of this log; what came after it is not known before `readIndex` */
  constructor(log: UpdateLog, snapshot: IndexSnapshot, options: RoomLogOptions) {
    const { name, limits, logger, mergeQueue, lowestPosition, onMergeFailure } = options;
    this.index = snapshot.index;
    this.#log = log;
    this.#name = name;
    this.#logger = logger;
    this.#headSeq = snapshot.upTo;
    this.#snapshotSeq = snapshot.upTo;
    this.#sizes = new StoredSizes(snapshot.sizes);
    this.#head = new HeadKeeper(log, name, logger, () => ({
      upTo: this.#headSeq,
      records: this.index.countStructs(),
      bytes: this.#sizes.list().reduce((sum, { bytes }) => sum + bytes, 0),
      digest: this.digest,
    }));
    this.#merger = new RoomMerger({
      log,
      index: this.index,
      sizes: this.#sizes,
      name,
      logger,
      queue: mergeQueue,
      mergeAfterUpdates: limits.mergeAfterUpdates,
      mergeAfterBytes: limits.mergeAfterBytes,
      isForgettable: (upTo) => this.#readings === 0 && lowestPosition() >= upTo,
      onFailure: onMergeFailure,
    });
  }

  /** Reads what came after the index snapshot. Rejects when the log cannot be read; then nothing was changed. */
  async readIndex(): Promise<void> {
    await this.#head.load();
    const budget = new TurnBudget();
    for await (const { seq, update } of this.#log.read(this.#snapshotSeq)) {
      this.#indexStoredUpdate(seq, update);
      await budget.spend();
    }
    this.#merger.startWhenDue();
  }

  /**
   * Takes of a stored update what fits. Something may not: when one write failed, a later one that was already on its
   * way may have succeeded. Its structs count as absent; whoever has them delivers them again.
   */
  #indexStoredUpdate(seq: number, update: Uint8Array): void {
    this.#headSeq = seq;
    this.#sizes.add({ seq, bytes: update.length });
    const parsed = parseStoredUpdate(update);
    const admission = parsed && admitStructs(parsed.structs, (client) => this.index.held(client));
    if (admission?.ok !== true) {
      this.#logger.error({ room: this.#name, seq }, "a stored update is damaged and was left out");
      return;
    }
    const { accepted, isMissingSome } = admission.value;
    if (isMissingSome) this.#logger.warn({ room: this.#name, seq }, "a stored update does not fit what precedes it");
    this.index.add(seq, accepted);
  }

  /** Position of the last durable update. */
  get headSeq(): number {
    return this.#headSeq;
  }

  /** Grows with every commit. */
  get version(): number {
    return this.#version;
  }

  /** Digest of what is durable. */
  get digest(): Uint8Array {
    if (this.#digest?.version !== this.#version) {
      this.#digest = { version: this.#version, bytes: digestStateVector(this.index.toStateVector(), sha256) };
    }
    return this.#digest.bytes;
  }

  /** What is durable, in a few numbers. */
  get head(): LogHead {
    return this.#head.head;
  }

  /** Appends an update. Settles with its position when it is durable; only `noteStored` makes it part of what is known. */
  append(update: Uint8Array): Promise<number> {
    this.#head.noteAppend();
    return this.#log.append(update);
  }

  /** Notes that an update of this size with these structs is durable; in the order of positions. */
  noteStored(seq: number, bytes: number, structs: readonly Struct[]): void {
    this.index.add(seq, structs);
    this.#sizes.add({ seq, bytes });
    this.#headSeq = seq;
    this.#version += 1;
    this.#head.noteStored();
  }

  /** Begins what is due by now behind the appends: a snapshot of the index, merging. Waits for nothing. */
  startUpkeep(): void {
    if (this.#headSeq - this.#snapshotSeq >= updatesPerSnapshot) this.#writeSnapshot();
    this.#merger.startWhenDue();
  }

  /** Begins to merge all there is to merge. */
  startMerging(): void {
    this.#merger.start();
  }

  /** Starts no more merges; settles when the one under way has ended. */
  stopMerging(): Promise<void> {
    return this.#merger.stop();
  }

  /** Not waited for: it only saves reading, and a newer one comes. */
  #writeSnapshot(): void {
    this.#snapshotSeq = this.#headSeq;
    this.#snapshotMergedCount = this.#merger.mergedCount;
    const bytes = encodeIndexSnapshot({ index: this.index, upTo: this.#headSeq, sizes: this.#sizes.list() });
    this.#log.writeDerived(indexSnapshotName, bytes).catch((error: unknown) => {
      this.#logger.warn({ room: this.#name, err: error }, "the index snapshot of a room was not written");
    });
  }

  /** Begins a reading that remembers positions of the index for longer than a turn. Returns the function that ends it. */
  startReading(): () => void {
    this.#readings += 1;
    return () => {
      this.#readings -= 1;
    };
  }

  /** Reads a part of what was stored at these positions, the first one a small one; see `readLogSlice`. */
  readSlice(seqs: readonly number[], from: number, isWanted: (struct: Struct) => boolean): Promise<LogSlice> {
    const seqOf = ({ client, clock }: Struct): number | undefined => this.index.seqOf(client, clock);
    return readLogSlice(this.#log, seqs, from, from === 0 ? firstSliceBytes : sliceBytes, seqOf, isWanted);
  }

  /**
   * Waits for merging, then releases the log. `isTrusted` tells behind merging whether what is known is what stands in
   * the log, so that the index may be kept for the next opening.
   */
  async close(isTrusted: () => boolean): Promise<void> {
    await this.#merger.stop();
    const isMerged = this.#merger.mergedCount > this.#snapshotMergedCount;
    const isDue = isMerged || this.#headSeq - this.#snapshotSeq >= minUpdatesPerSnapshot;
    if (isTrusted() && isDue) this.#writeSnapshot();
    if (isTrusted()) this.#head.keep();
    await this.#log.close();
  }
}
