import { setImmediate as nextTurn } from "node:timers/promises";
import { type Result, SessionError, type UpdateLog, type UpdateStore } from "@coppice/core";
import type { AwarenessState } from "@coppice/wire";
import type { Logger } from "pino";
import type { Refusal } from "./authorize.ts";
import { type Broadcast, prepareBroadcast } from "./broadcast.ts";
import { type IndexSnapshot, readIndexSnapshot } from "./index-snapshot.ts";
import { RecentUpdates } from "./recent-updates.ts";
import { RoomCursors } from "./room-cursors.ts";
import { type Delivered, RoomDeliveries, type StoredChunk } from "./room-deliveries.ts";
import { RoomLog, type RoomLogOptions } from "./room-log.ts";
import type { RoomMember } from "./room-member.ts";
import type { WriteGate } from "./write-gate.ts";

/** What a room is made of. */
export interface RoomOptions extends Omit<RoomLogOptions, "lowestPosition" | "onMergeFailure"> {
  /** Shut while nothing can be written. */
  readonly writeGate: WriteGate;
}

/**
 * One room: who follows a validated, causal, durable log, and what they are told of it. It is no replica: of the
 * content it knows which structs it has and where they are stored (`RoomLog`). How an update gets there is the matter
 * of `RoomDeliveries`; the room tells its members what became of it.
 */
export class Room {
  readonly name: string;
  /** What is durable. */
  readonly log: RoomLog;
  readonly cursors: RoomCursors = new RoomCursors();
  readonly recent: RecentUpdates;
  readonly #logger: Logger;
  readonly #writeGate: WriteGate;
  readonly #deliveries: RoomDeliveries<RoomMember>;
  readonly #members = new Set<RoomMember>();
  /** What is to be told with the next fan-out. */
  #committed: Set<number> | undefined;
  #movedCursors: Set<number> | undefined;
  #isFanOutScheduled = false;
  #isOver = false;

  private constructor(log: UpdateLog, snapshot: IndexSnapshot, options: RoomOptions) {
    const { name, limits, logger, writeGate } = options;
    this.name = name;
    this.recent = new RecentUpdates(limits.maxRecentBytes);
    this.#logger = logger;
    this.#writeGate = writeGate;
    this.log = new RoomLog(log, snapshot, {
      ...options,
      lowestPosition: () => this.#lowestPosition,
      onMergeFailure: (error) => this.fail(error, "stored updates could not be merged; the room is closed"),
    });
    this.#deliveries = new RoomDeliveries(this.log, writeGate, {
      noteStored: (chunk) => this.#noteStored(chunk),
      noteSettled: (member, clients) => this.#noteSettled(member, clients),
      noteUnstored: (error) => this.#failToStore(error),
      noteFailure: (error) => this.fail(error, "an update could not be handled; the room is closed"),
    });
  }

  /** Opens a room from its log. Rejects when the log cannot be opened or read; then nothing was changed. */
  static async open(store: UpdateStore, options: RoomOptions): Promise<Room> {
    const log = await store.openLog(options.name);
    try {
      const room = new Room(log, await readIndexSnapshot(log), options);
      await room.log.readIndex();
      return room;
    } catch (error) {
      await log.close();
      throw error;
    }
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

  /**
   * Takes an update a member sent; see `RoomDeliveries.deliver`. What follows the commit, acknowledging and forwarding,
   * happens by itself and in order.
   */
  deliver(member: RoomMember, update: Uint8Array): Promise<Result<Delivered, Refusal>> {
    return this.#deliveries.deliver(member, update);
  }

  #noteStored({ seq, structs, frame, sender }: StoredChunk<RoomMember>): void {
    this.recent.add({ seq, broadcast: prepareBroadcast(frame), sender });
    this.#committed ??= new Set();
    for (const { client } of structs) this.#committed.add(client);
  }

  #noteSettled(member: RoomMember, clients: ReadonlySet<number>): void {
    member.acknowledge(clients);
    this.#scheduleFanOut();
  }

  #failToStore(error: unknown): void {
    const isFull = error instanceof SessionError && error.code === "storage_full";
    if (isFull) this.#writeGate.shut();
    this.#end(error, isFull ? diskFull : undefined, "an update could not be stored; the room is closed");
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

  #publishCursors(clients: readonly number[]): void {
    if (clients.length === 0) return;
    this.#movedCursors ??= new Set();
    for (const client of clients) this.#movedCursors.add(client);
    this.#scheduleFanOut();
  }

  /** Shows a draft to all others, as it is: it is neither kept nor queued. */
  shareDraft(member: RoomMember, draft: Broadcast): void {
    for (const other of this.#members) if (other !== member) other.showDraft(draft);
  }

  /** Once per turn of the event loop, so that everything of one group commit goes out together and fast cursors cost little. */
  #scheduleFanOut(): void {
    if (this.#isFanOutScheduled) return;
    this.#isFanOutScheduled = true;
    setImmediate(() => {
      this.#isFanOutScheduled = false;
      const changes = { committed: this.#committed, cursors: this.#movedCursors };
      this.#committed = undefined;
      this.#movedCursors = undefined;
      for (const member of this.#members) member.noteChanges(changes);
      this.recent.dropUpTo(this.#lowestPosition);
    });
  }

  /** Every member that follows the log has got all up to here. */
  get #lowestPosition(): number {
    let lowest = this.log.headSeq;
    for (const { position } of this.#members) if (position !== undefined && position < lowest) lowest = position;
    return lowest;
  }

  /** Asks every member for what was not taken from it while the disk was full. */
  askForRefused(): void {
    for (const member of this.#members) member.askForRefused();
  }

  /** Merges what is stored, now that nobody uses the room. */
  mergeWhenIdle(): void {
    if (this.isUsable) this.log.startMerging();
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
    this.#deliveries.end();
    void this.log.stopMerging();
    const report = { room: this.name, err: error };
    if (error === undefined) this.#logger.info(report, message);
    else this.#logger.error(report, message);
    for (const member of this.#members) member.refuse(refusal ?? unstored);
  }

  /** Settles when all that was taken is durable, and its acknowledgements have been handed to the sockets. */
  async settle(): Promise<void> {
    await this.#deliveries.settle();
    while (this.#isFanOutScheduled) await nextTurn();
  }

  /** Waits for what is on its way to the disk, then releases the log. */
  async close(): Promise<void> {
    await this.#deliveries.settle();
    await this.log.close(() => this.isUsable);
  }
}

const unstored: Refusal = { reason: "storageFailed", message: "the relay could not store or read its data" };
const diskFull: Refusal = { reason: "storageFull", message: "the relay's disk is full" };
const deleted: Refusal = { reason: "roomDeleted", message: "this room was deleted" };
