import { SessionError, type UpdateStore } from "@coppice/core";
import type { Logger } from "pino";
import type { RelayLimits } from "./relay-limits.ts";
import { Room } from "./room.ts";
import { TaskQueue } from "./task-queue.ts";

/** The right to use a room until it is released. */
export interface RoomLease {
  readonly room: Room;
  /** Gives the room back; must be called once. */
  release(): void;
}

/** One opening of a room, from reading its log to releasing it. */
interface OpenRoom {
  readonly room: Promise<Room>;
  users: number;
  idleTimer: NodeJS.Timeout | undefined;
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
  #isClosed = false;

  constructor(store: UpdateStore, limits: RelayLimits, logger: Logger) {
    this.#store = store;
    this.#limits = limits;
    this.#logger = logger;
  }

  /** Number of rooms in memory. */
  get size(): number {
    return this.#byName.size;
  }

  /** Opens or shares a room. Rejects when it cannot be read; the next call tries again. */
  async acquire(name: string): Promise<RoomLease> {
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
      if (room.isUsable) return { room, release: () => this.#release(name, open, room) };
      this.#end(name, open);
    }
  }

  /** Ends every room, because what they hold may not be in the store any more; each is read again when it is needed. */
  fail(error: unknown): void {
    for (const open of this.#byName.values()) {
      // One that cannot be opened has told who waits for it.
      open.room.then((room) => room.fail(error, "the store cannot be read; the room is closed")).catch(() => undefined);
    }
  }

  #open(name: string): OpenRoom {
    const options = { name, limits: this.#limits, logger: this.#logger, mergeQueue: this.#mergeQueue };
    const room = Room.open(this.#store, options);
    const open: OpenRoom = { room, users: 0, idleTimer: undefined, ending: undefined };
    this.#byName.set(name, open);
    room.catch(() => this.#forget(name, open));
    return open;
  }

  #release(name: string, open: OpenRoom, room: Room): void {
    open.users -= 1;
    if (open.users > 0 || open.ending !== undefined) return;
    room.mergeWhenIdle();
    if (room.isUsable) open.idleTimer = setTimeout(() => this.#end(name, open), this.#limits.roomIdleMs).unref();
    else this.#end(name, open);
  }

  #end(name: string, open: OpenRoom): void {
    clearTimeout(open.idleTimer);
    open.ending ??= open.room
      .then((room) => room.close())
      .catch((error: unknown) => {
        this.#logger.error({ room: name, err: error }, "a room's log did not close");
      })
      .finally(() => this.#forget(name, open));
  }

  #forget(name: string, open: OpenRoom): void {
    if (this.#byName.get(name) === open) this.#byName.delete(name);
  }

  /** Closes every room after what is on its way to the disk. Connections must have been closed before. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const [name, open] of this.#byName) this.#end(name, open);
    await Promise.all([...this.#byName.values()].map((open) => open.ending));
  }
}
