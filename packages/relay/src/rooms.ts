import { type Result, SessionError, TaskQueue, type UpdateStore } from "@coppice/core";
import { deriveRoomId, type RoomHead } from "@coppice/wire";
import type { Logger } from "pino";
import type { Refusal } from "./authorize.ts";
import { type LogHead, readCurrentLogHead } from "./log-head.ts";
import type { RelayLimits } from "./relay-limits.ts";
import { Room } from "./room.ts";
import { sha256 } from "./sha256.ts";
import { isDeleted, writeTombstone } from "./tombstones.ts";
import { WriteGate } from "./write-gate.ts";

/** The right to use a room until it is released. */
export interface RoomLease {
  readonly room: Room;
  /**
   * Deletes the room for good if this is its secret: all its connections are closed, nobody is let in any more, and its
   * log is removed. Settles when that is sure to happen, also if the relay ends now. A wrong secret is refused and
   * changes nothing.
   */
  deleteRoom(secret: Uint8Array): Promise<Result<void, Refusal>>;
  /** Gives the room back; must be called once. Unused, it stays in memory for `idleMs`; default as the limits say. */
  release(idleMs?: number): void;
}

/** One opening of a room, from reading its log to releasing it. */
interface OpenRoom {
  /** Undefined: it was deleted. */
  readonly room: Promise<Room | undefined>;
  users: number;
  idleTimer: NodeJS.Timeout | undefined;
  isDeleted: boolean;
  /** Set once the room is being given up; settles when its log is released. Never rejects. */
  ending: Promise<void> | undefined;
}

/**
 * The rooms that are open. A room is read from disk for the first connection, shared by the others and given up some
 * time after the last one. One that failed is given up as soon as it is unused, and read again for the next.
 */
export class Rooms {
  readonly #store: UpdateStore;
  readonly #limits: RelayLimits;
  readonly #logger: Logger;
  readonly #mergeQueue = new TaskQueue();
  readonly #byName = new Map<string, OpenRoom>();
  readonly #writeGate: WriteGate;
  #isEnding = false;
  #isClosed = false;

  constructor(store: UpdateStore, limits: RelayLimits, logger: Logger) {
    this.#store = store;
    this.#limits = limits;
    this.#logger = logger;
    this.#writeGate = new WriteGate(store, limits.storeCheckIntervalMs, () => this.#askForRefused());
  }

  /** Number of rooms in memory. */
  get size(): number {
    return this.#byName.size;
  }

  /** Opens or shares a room; a refusal when it was deleted. Rejects when it cannot be read; the next call tries again. */
  async acquire(name: string): Promise<RoomLease | Refusal> {
    for (;;) {
      if (this.#isClosed) throw new SessionError("closed", `room ${name} cannot be opened: the relay is closing`);
      const open = this.#byName.get(name) ?? this.#open(name);
      if (open.ending !== undefined) {
        await open.ending;
        continue;
      }
      // Counted before the wait, so that nobody else finds the room unused and ends it meanwhile.
      open.users += 1;
      clearTimeout(open.idleTimer);
      const room = await open.room;
      if (room === undefined) return { reason: "roomDeleted", message: "this room was deleted" };
      if (room.isUsable) return this.#lease(name, open, room);
      this.#end(name, open);
    }
  }

  /**
   * Tells what is durable of a room. One that is not in memory is loaded only if nothing up to date was kept beside its
   * log, and given up at once. Rejects when the room cannot be read.
   */
  async readHead(name: string): Promise<RoomHead> {
    const wasOpen = this.#byName.has(name);
    if (!wasOpen) {
      if (await isDeleted(this.#store, name)) return { room: name, state: "deleted" };
      const head = await this.#readKeptHead(name);
      if (head !== undefined) return head;
    }
    const lease = await this.acquire(name);
    if ("reason" in lease) return { room: name, state: "deleted" };
    const head = toRoomHead(name, lease.room.log.head);
    lease.release(wasOpen ? undefined : 0);
    return head;
  }

  async #readKeptHead(name: string): Promise<RoomHead | undefined> {
    const log = await this.#store.openLog(name);
    try {
      // Nothing is made of names that somebody makes up.
      if (log.lastSeq() === 0) return { room: name, state: "unknown" };
      const head = await readCurrentLogHead(log);
      return head && toRoomHead(name, head);
    } finally {
      await log.close();
    }
  }

  #lease(name: string, open: OpenRoom, room: Room): RoomLease {
    return {
      room,
      deleteRoom: (secret) => this.#delete(name, open, room, secret),
      release: (idleMs) => this.#release(name, open, room, idleMs),
    };
  }

  async #delete(name: string, open: OpenRoom, room: Room, secret: Uint8Array): Promise<Result<void, Refusal>> {
    if (deriveRoomId(secret, sha256) !== name) {
      return { ok: false, error: { reason: "forbidden", message: "this secret does not delete this room" } };
    }
    await writeTombstone(this.#store, name);
    open.isDeleted = true;
    room.endDeleted();
    this.#end(name, open);
    return { ok: true, value: undefined };
  }

  /** There is space again. */
  #askForRefused(): void {
    // A room that cannot be opened has told who waits for it.
    for (const { room } of this.#byName.values()) room.then((opened) => opened?.askForRefused()).catch(() => undefined);
  }

  /** Ends every room, because what they hold may not be in the store any more; each is read again when it is needed. */
  fail(error: unknown): void {
    for (const open of this.#byName.values()) {
      // One that cannot be opened has told who waits for it.
      open.room
        .then((room) => room?.fail(error, "the store cannot be read; the room is closed"))
        .catch(() => undefined);
    }
  }

  #open(name: string): OpenRoom {
    const room = this.#openRoom(name);
    const open: OpenRoom = { room, users: 0, idleTimer: undefined, isDeleted: false, ending: undefined };
    this.#byName.set(name, open);
    room.then(
      (opened) => opened ?? this.#forget(name, open),
      () => this.#forget(name, open),
    );
    return open;
  }

  async #openRoom(name: string): Promise<Room | undefined> {
    if (await isDeleted(this.#store, name)) return undefined;
    return Room.open(this.#store, {
      name,
      limits: this.#limits,
      logger: this.#logger,
      mergeQueue: this.#mergeQueue,
      writeGate: this.#writeGate,
    });
  }

  #release(name: string, open: OpenRoom, room: Room, idleMs: number = this.#limits.roomIdleMs): void {
    open.users -= 1;
    if (open.users > 0 || open.ending !== undefined) return;
    if (!this.#isEnding) room.mergeWhenIdle();
    if (room.isUsable) open.idleTimer = setTimeout(() => this.#end(name, open), idleMs).unref();
    else this.#end(name, open);
  }

  #end(name: string, open: OpenRoom): void {
    clearTimeout(open.idleTimer);
    open.ending ??= open.room
      .then(async (room) => {
        await room?.close();
        if (open.isDeleted) await this.#store.deleteLog(name);
      })
      .catch((error: unknown) => {
        this.#logger.error({ room: name, err: error }, "a room was not given up as it should be");
      })
      .finally(() => this.#forget(name, open));
  }

  #forget(name: string, open: OpenRoom): void {
    if (this.#byName.get(name) === open) this.#byName.delete(name);
  }

  /** From now on rooms that are no longer used are not merged: with thousands of them, closing would take minutes. */
  prepareClosing(): void {
    this.#isEnding = true;
  }

  /** Settles when all that the open rooms have taken is durable and acknowledged. Never rejects. */
  async settle(): Promise<void> {
    // A room that cannot be opened has nothing to settle.
    const settled = [...this.#byName.values()].map(({ room }) => room.then((opened) => opened?.settle()));
    await Promise.allSettled(settled);
  }

  /** Closes every room after what is on its way to the disk. Connections must have been closed before. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const [name, open] of this.#byName) this.#end(name, open);
    await Promise.all([...this.#byName.values()].map((open) => open.ending));
    await this.#writeGate.close();
  }
}

function toRoomHead(room: string, { upTo, records, bytes, digest, updatedAtMs }: LogHead): RoomHead {
  if (upTo === 0) return { room, state: "unknown" };
  return { room, state: "present", digest, records, bytes, updatedAtMs };
}
