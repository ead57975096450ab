import { setImmediate as nextTurn } from "node:timers/promises";
import { type Result, SessionError, type UpdateLog, type UpdateStore } from "@coppice/core";
import {
  type AwarenessState,
  admitStructs,
  chunkStructs,
  digestStateVector,
  encodeFrame,
  offenceToCloseReason,
  parseUpdate,
  type Struct,
} from "@coppice/wire";
import type { Logger } from "pino";
import type { Refusal } from "./authorize.ts";
import { decodeIndexSnapshot, encodeIndexSnapshot, type IndexSnapshot, indexSnapshotName } from "./index-snapshot.ts";
import { type LogSlice, parseStoredUpdate, readLogSlice } from "./log-slice.ts";
import { RecentUpdates } from "./recent-updates.ts";
import type { RelayLimits } from "./relay-limits.ts";
import { RoomCursors } from "./room-cursors.ts";
import { RoomIndex } from "./room-index.ts";
import { RoomMerger } from "./room-merger.ts";
import { sha256 } from "./sha256.ts";
import { StoredSizes } from "./stored-sizes.ts";
import type { TaskQueue } from "./task-queue.ts";
import { TurnBudget } from "./turn-budget.ts";
import type { WriteGate } from "./write-gate.ts";

/** A connection as its room sees it. */
export interface RoomMember {
  /** Position of the last stored update this member needs no more; undefined when it does not follow the log (yet). */
  readonly position: number | undefined;
  /** Something was committed or moved: send it. */
  noteChanges(changes: RoomChanges): void;
  /** What this member delivered of these clients is settled: acknowledge as far as it is durable. */
  acknowledge(clients: Iterable<number>): void;
  /** Somebody else claims this member's cursor: find out whether it is still alive. */
  checkAlive(): void;
  /** Another member shows a draft; the whole websocket message. */
  showDraft(frame: Uint8Array): void;
  /** There is space again: ask for what was not taken from this member meanwhile. */
  askForRefused(): void;
  /** Closes the connection. */
  refuse(refusal: Refusal): void;
}

/** What happened in a room within one turn of the event loop. */
export interface RoomChanges {
  /** Clients of which structs were committed. */
  readonly committed: ReadonlySet<number>;
  /** Clients whose cursor changed. */
  readonly cursors: ReadonlySet<number>;
}

/** What became of an update a member delivered. */
export interface Delivered {
  /** Something before a part of it is missing; that part was dropped. */
  readonly hasGap: boolean;
  /** The disk is full; what was new of it was dropped. */
  readonly isRefused: boolean;
}

/** What one reader of the log holds in memory at a time; one record may be larger. A few chunks, to read in larger pieces. */
const sliceBytes = 1024 * 1024;

/** When more than this is on its way to the disk, members wait before they may deliver more. */
const maxInFlightBytes = 8 * 1024 * 1024;

/** After this many updates the index is written down; until then a room that is opened reads them. */
const updatesPerSnapshot = 2_000;
/** Fewer than this are read faster than a snapshot is worth writing. */
const minUpdatesPerSnapshot = 200;

/** One chunk on its way to the disk. Never rejects: it is looked at only when those before it are settled. */
interface PendingChunk {
  readonly structs: readonly Struct[];
  /** Size of the update. */
  readonly bytes: number;
  readonly frame: Uint8Array;
  readonly stored: Promise<Result<number, unknown>>;
}

interface RoomOptions {
  readonly name: string;
  readonly log: UpdateLog;
  readonly snapshot: IndexSnapshot;
  readonly limits: RelayLimits;
  readonly logger: Logger;
  /** Where merging waits for its turn. */
  readonly mergeQueue: TaskQueue;
  /** Shut while nothing can be written. */
  readonly writeGate: WriteGate;
}

/**
 * One room: a validated, causal, durable log and whoever follows it. It is no replica: of the content it knows which
 * structs it has and where they are stored.
 *
 * Two state vectors: `#accepted` decides what fits (checked, handed to the log, perhaps not durable yet), `index` is
 * what is durable. Only the latter is acknowledged, forwarded and told to clients.
 */
export class Room {
  readonly name: string;
  /** What is durable. */
  readonly index: RoomIndex;
  readonly cursors: RoomCursors = new RoomCursors();
  readonly recent: RecentUpdates;
  readonly #log: UpdateLog;
  readonly #logger: Logger;
  readonly #members = new Set<RoomMember>();
  readonly #accepted = new Map<number, number>();
  #changes = { committed: new Set<number>(), cursors: new Set<number>() };
  #inFlightBytes = 0;
  #commits: Promise<void> = Promise.resolve();
  #headSeq: number;
  /** Position of the newest index snapshot. */
  #snapshotSeq: number;
  #version = 0;
  #digest: { readonly version: number; readonly bytes: Uint8Array } | undefined;
  readonly #writeGate: WriteGate;
  readonly #sizes: StoredSizes;
  readonly #merger: RoomMerger;
  /** Merges that the newest index snapshot knows of. */
  #snapshotMergedCount = 0;
  /** Readings under way that remember positions. */
  #readings = 0;
  #isFanOutScheduled = false;
  #isOver = false;

  private constructor({ name, log, snapshot, limits, logger, mergeQueue, writeGate }: RoomOptions) {
    this.name = name;
    this.index = snapshot.index;
    this.#headSeq = snapshot.upTo;
    this.#snapshotSeq = snapshot.upTo;
    this.recent = new RecentUpdates(limits.maxRecentBytes);
    this.#log = log;
    this.#logger = logger;
    this.#writeGate = writeGate;
    this.#sizes = new StoredSizes(snapshot.sizes);
    this.#merger = new RoomMerger({
      log,
      index: this.index,
      sizes: this.#sizes,
      logger: logger.child({ room: name }),
      queue: mergeQueue,
      mergeAfterUpdates: limits.mergeAfterUpdates,
      mergeAfterBytes: limits.mergeAfterBytes,
      isForgettable: (upTo) => this.#readings === 0 && this.#lowestPosition >= upTo,
      onFailure: (error) => this.fail(error, "stored updates could not be merged; the room is closed"),
    });
  }

  /** Opens a room from its log. Rejects when the log cannot be opened or read; then nothing was changed. */
  static async open(store: UpdateStore, options: Omit<RoomOptions, "log" | "snapshot">): Promise<Room> {
    const log = await store.openLog(options.name);
    try {
      const room = new Room({ ...options, log, snapshot: await readSnapshot(log) });
      await room.#readIndex();
      return room;
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  async #readIndex(): Promise<void> {
    const budget = new TurnBudget();
    for await (const { seq, update } of this.#log.read(this.#snapshotSeq)) {
      this.#indexStoredUpdate(seq, update);
      await budget.spend();
    }
    this.#merger.startWhenDue();
    for (const [client, held] of this.index.toStateVector()) this.#accepted.set(client, held);
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
      this.#logger.error({ room: this.name, seq }, "a stored update is damaged and was left out");
      return;
    }
    const { accepted, isMissingSome } = admission.value;
    if (isMissingSome) this.#logger.warn({ room: this.name, seq }, "a stored update does not fit what precedes it");
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

  /** Whether the room can take members; a failed one is replaced by the next that is read from the log. */
  get isUsable(): boolean {
    return !this.#isOver;
  }

  /** Lets a member in; from now on it hears of commits and cursors. */
  join(member: RoomMember): void {
    this.#members.add(member);
  }

  /** Ends a membership and the cursor that came with it. */
  leave(member: RoomMember): void {
    if (!this.#members.delete(member)) return;
    const client = this.cursors.remove(member);
    if (client !== undefined) this.#publishCursors([client]);
  }

  /** Takes the cursors a member sent. Returns how many were not its own. */
  receiveCursors(member: RoomMember, states: readonly AwarenessState[]): number {
    const { changed, droppedCount, contestedHolders } = this.cursors.receive(member, states);
    this.#publishCursors(changed);
    for (const other of this.#members) {
      if (contestedHolders.includes(other)) other.checkAlive();
    }
    return droppedCount;
  }

  /** Digest of what is durable. */
  get digest(): Uint8Array {
    if (this.#digest?.version !== this.#version) {
      this.#digest = { version: this.#version, bytes: digestStateVector(this.index.toStateVector(), sha256) };
    }
    return this.#digest.bytes;
  }

  /** Shows a draft to all others, as it is: it is neither kept nor queued. */
  shareDraft(member: RoomMember, frame: Uint8Array): void {
    for (const other of this.#members) if (other !== member) other.showDraft(frame);
  }

  #publishCursors(clients: readonly number[]): void {
    if (clients.length === 0) return;
    for (const client of clients) this.#changes.cursors.add(client);
    this.#scheduleFanOut();
  }

  /**
   * Takes an update: checks it, hands what is new to the log and settles when that is done, which is before it is
   * durable (so that many share one commit) unless much is on its way already. What follows the commit, acknowledging and forwarding, happens by itself
   * and in order. Refused updates change nothing. Calls of one member must not overlap; those of several may.
   */
  async deliver(member: RoomMember, update: Uint8Array): Promise<Result<Delivered, Refusal>> {
    const parsed = parseUpdate(update);
    if (!parsed.ok) return refuseBy(parsed.error);
    const { structs } = parsed.value;
    const held = (client: number): number => this.#accepted.get(client) ?? 0;
    let compared = 0;
    for (;;) {
      const admission = admitStructs(structs, held);
      if (!admission.ok) return refuseBy(admission.error);
      const { known, accepted, isMissingSome } = admission.value;
      if (known.length === compared) {
        if (this.#writeGate.isShut && known.length < structs.length) {
          this.#append(member, known, []);
          return { ok: true, value: { hasGap: false, isRefused: true } };
        }
        // No await between admission and here: nobody else can have changed what fits.
        this.#append(member, structs, accepted);
        if (this.#inFlightBytes > maxInFlightBytes) await this.#commits;
        return { ok: true, value: { hasGap: isMissingSome, isRefused: false } };
      }
      if (!(await this.#isSameAsStored(known))) {
        return { ok: false, error: { reason: "conflictingHistory", message: "other content for what the room holds" } };
      }
      // While comparing, others may have delivered more of these structs: then compare those too.
      compared = known.length;
    }
  }

  async #isSameAsStored(structs: readonly Struct[]): Promise<boolean> {
    await this.#commits;
    const expected = new Map<string, Struct>();
    const seqs = new Set<number>();
    for (const struct of structs) {
      const seq = this.index.seqOf(struct.client, struct.clock);
      // Accepted but not durable after all commits: the room has failed, and its members are being closed.
      if (seq === undefined) return true;
      seqs.add(seq);
      expected.set(structKey(struct), struct);
    }
    const sorted = [...seqs].sort((left, right) => left - right);
    const endReading = this.startReading();
    try {
      for (let next = 0; next < sorted.length; ) {
        const slice = await this.readSlice(sorted, next, (struct) => expected.has(structKey(struct)));
        if (!slice.structs.every((stored) => isSameStruct(stored, expected.get(structKey(stored))))) return false;
        next = slice.next;
      }
    } finally {
      endReading();
    }
    return true;
  }

  #append(member: RoomMember, delivered: readonly Struct[], accepted: readonly Struct[]): void {
    if (this.#isOver || delivered.length === 0) return;
    const chunks: PendingChunk[] = [];
    for (const { structs, update } of chunkStructs(accepted)) {
      const stored = this.#log.append(update).then(
        (seq): Result<number, unknown> => ({ ok: true, value: seq }),
        (error: unknown): Result<number, unknown> => ({ ok: false, error }),
      );
      const frame = encodeFrame({ type: "update", update });
      chunks.push({ structs, bytes: update.length, frame, stored });
      this.#inFlightBytes += frame.length;
    }
    for (const { client, clock } of accepted) this.#accepted.set(client, clock + 1);
    const clients = new Set(delivered.map(({ client }) => client));
    this.#commits = this.#commits
      .then(() => this.#settle(member, chunks, clients))
      .catch((error: unknown) => this.fail(error, "an update could not be handled; the room is closed"));
  }

  async #settle(member: RoomMember, chunks: readonly PendingChunk[], clients: ReadonlySet<number>): Promise<void> {
    for (const { structs, bytes, frame, stored } of chunks) {
      const result = await stored;
      if (this.#isOver) return;
      if (!result.ok) {
        this.#failToStore(result.error);
        return;
      }
      this.#inFlightBytes -= frame.length;
      this.index.add(result.value, structs);
      this.#sizes.add({ seq: result.value, bytes });
      this.recent.add({ seq: result.value, frame, sender: member });
      this.#headSeq = result.value;
      this.#version += 1;
      for (const { client } of structs) this.#changes.committed.add(client);
    }
    member.acknowledge(clients);
    this.#scheduleFanOut();
    if (this.#headSeq - this.#snapshotSeq >= updatesPerSnapshot) this.#writeSnapshot();
    this.#merger.startWhenDue();
  }

  #failToStore(error: unknown): void {
    const isFull = error instanceof SessionError && error.code === "storage_full";
    if (isFull) this.#writeGate.shut();
    this.#end(error, isFull ? diskFull : undefined, "an update could not be stored; the room is closed");
  }

  /** Not waited for: it only saves reading, and a newer one comes. */
  #writeSnapshot(): void {
    this.#snapshotSeq = this.#headSeq;
    this.#snapshotMergedCount = this.#merger.mergedCount;
    const bytes = encodeIndexSnapshot({ index: this.index, upTo: this.#headSeq, sizes: this.#sizes.list() });
    this.#log.writeDerived(indexSnapshotName, bytes).catch((error: unknown) => {
      this.#logger.warn({ room: this.name, err: error }, "the index snapshot of a room was not written");
    });
  }

  /** Once per turn of the event loop, so that everything of one group commit goes out together and fast cursors cost little. */
  #scheduleFanOut(): void {
    if (this.#isFanOutScheduled) return;
    this.#isFanOutScheduled = true;
    setImmediate(() => {
      this.#isFanOutScheduled = false;
      const changes = this.#changes;
      this.#changes = { committed: new Set(), cursors: new Set() };
      for (const member of this.#members) member.noteChanges(changes);
      this.recent.dropUpTo(this.#lowestPosition);
    });
  }

  /** Every member that follows the log has got all up to here. */
  get #lowestPosition(): number {
    let lowest = this.#headSeq;
    for (const { position } of this.#members) if (position !== undefined && position < lowest) lowest = position;
    return lowest;
  }

  /**
   * Ends the room: its members are closed, and it is read again for the next one. After a failed write, or when the
   * store vanished, nobody can say what is durable but the log itself. `message` is for the relay's own report.
   */
  fail(error: unknown, message: string): void {
    this.#end(error, undefined, message);
  }

  /** Ends the room because it was deleted. */
  endDeleted(): void {
    this.#end(undefined, deleted, "the room was deleted");
  }

  #end(error: unknown, refusal: Refusal | undefined, message: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    void this.#merger.stop();
    const report = { room: this.name, err: error };
    if (error === undefined) this.#logger.info(report, message);
    else this.#logger.error(report, message);
    for (const member of this.#members) member.refuse(refusal ?? unstored);
  }

  /** Asks every member for what was not taken from it while the disk was full. */
  askForRefused(): void {
    for (const member of this.#members) member.askForRefused();
  }

  /** Merges what is stored, now that nobody uses the room. */
  mergeWhenIdle(): void {
    if (this.isUsable) this.#merger.start();
  }

  /** Begins a reading that remembers positions of the index for longer than a turn. Returns the function that ends it. */
  startReading(): () => void {
    this.#readings += 1;
    return () => {
      this.#readings -= 1;
    };
  }

  /** Reads a part of what was stored at these positions; see `readLogSlice`. */
  readSlice(seqs: readonly number[], from: number, isWanted: (struct: Struct) => boolean): Promise<LogSlice> {
    const seqOf = ({ client, clock }: Struct): number | undefined => this.index.seqOf(client, clock);
    return readLogSlice(this.#log, seqs, from, sliceBytes, seqOf, isWanted);
  }

  /** Settles when all that was taken is durable, and its acknowledgements have been handed to the sockets. */
  async settle(): Promise<void> {
    for (let commits: Promise<void> | undefined; commits !== this.#commits; ) {
      commits = this.#commits;
      await commits;
    }
    while (this.#isFanOutScheduled) await nextTurn();
  }

  /** Waits for what is on its way to the disk, then releases the log. */
  async close(): Promise<void> {
    await this.#commits;
    await this.#merger.stop();
    const isMerged = this.#merger.mergedCount > this.#snapshotMergedCount;
    const isDue = isMerged || this.#headSeq - this.#snapshotSeq >= minUpdatesPerSnapshot;
    if (this.isUsable && isDue) this.#writeSnapshot();
    await this.#log.close();
  }
}

const unstored: Refusal = { reason: "storageFailed", message: "the relay could not store or read its data" };
const diskFull: Refusal = { reason: "storageFull", message: "the relay's disk is full" };
const deleted: Refusal = { reason: "roomDeleted", message: "this room was deleted" };

async function readSnapshot(log: UpdateLog): Promise<IndexSnapshot> {
  const bytes = await log.readDerived(indexSnapshotName);
  const snapshot = bytes === undefined ? undefined : decodeIndexSnapshot(bytes);
  // A snapshot of more than there is belongs to another log.
  if (snapshot === undefined || snapshot.upTo > log.lastSeq()) return { index: new RoomIndex(), upTo: 0, sizes: [] };
  return snapshot;
}

function refuseBy(offence: Parameters<typeof offenceToCloseReason>[0]): Result<never, Refusal> {
  return { ok: false, error: { reason: offenceToCloseReason(offence), message: `update refused: ${offence}` } };
}

const structKey = ({ client, clock }: Struct): string => `${client}:${clock}`;

function isSameStruct(stored: Struct, other: Struct | undefined): boolean {
  // Both are in the one spelling the grammar allows, so equal bytes mean equal origin and record and the reverse.
  return other !== undefined && Buffer.compare(stored.encoded, other.encoded) === 0;
}
