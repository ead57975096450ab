import type { RoomHead } from "@coppice/wire";

/** What a room activity works with. */
export interface RoomActivityOptions {
  /** Rooms of interest, as the list says at the moment. */
  readonly getRooms: () => Iterable<string>;
  /** Asks the relay; false: it cannot be asked now, or does not understand the question. */
  readonly ask: (rooms: readonly string[]) => boolean;
  /** Something was told that was not known. */
  readonly onChange: () => void;
}

/**
 * When something last happened in rooms that need not be open here, by the relay's word and clock: for showing alone. It
 * is asked on each connection, once for each room, and when somebody wants to know. SPEC WS72.
 */
export class RoomActivity {
  readonly #options: RoomActivityOptions;
  readonly #updatedAtByRoom = new Map<string, number>();
  /** Rooms asked about on this connection. */
  readonly #asked = new Set<string>();

  constructor(options: RoomActivityOptions) {
    this.#options = options;
  }

  /** Ms since 1970; undefined: nothing is known. */
  updatedAtOf(room: string): number | undefined {
    return this.#updatedAtByRoom.get(room);
  }

  /** Asks about rooms that have not been asked about on this connection. */
  look(): void {
    const rooms = Array.from(this.#options.getRooms()).filter((room) => !this.#asked.has(room));
    if (rooms.length > 0 && this.#options.ask(rooms)) for (const room of rooms) this.#asked.add(room);
  }

  /** Asks about all rooms: on a new connection, or because somebody wants to know. */
  refresh(): void {
    this.#asked.clear();
    this.look();
  }

  /** Takes what the relay has said. */
  take(heads: readonly RoomHead[]): void {
    let isNews = false;
    for (const head of heads) {
      // Listed before its first entries got there: the next change of the list is a reason to ask again.
      if (head.state === "unknown") this.#asked.delete(head.room);
      if (head.state !== "present" || head.updatedAtMs === 0) continue;
      if (this.#updatedAtByRoom.get(head.room) === head.updatedAtMs) continue;
      this.#updatedAtByRoom.set(head.room, head.updatedAtMs);
      isNews = true;
    }
    if (isNews) this.#options.onChange();
  }
}
