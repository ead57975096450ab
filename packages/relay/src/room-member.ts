import type { Refusal } from "./authorize.ts";
import type { Broadcast } from "./broadcast.ts";

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
  /** Another member shows a draft. */
  showDraft(draft: Broadcast): void;
  /** There is space again: ask for what was not taken from this member meanwhile. */
  askForRefused(): void;
  /** Closes the connection. */
  refuse(refusal: Refusal): void;
}

/** What happened in a room within one turn of the event loop. */
export interface RoomChanges {
  /** Clients of which structs were committed; undefined: none. */
  readonly committed: ReadonlySet<number> | undefined;
  /** Clients whose cursor changed; undefined: none. */
  readonly cursors: ReadonlySet<number> | undefined;
}
