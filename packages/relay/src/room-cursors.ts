import {
  type AwarenessState,
  absentState,
  encodeFrame,
  maxAwarenessClock,
  maxAwarenessFrameBytes,
} from "@coppice/wire";
import { type Broadcast, prepareBroadcast } from "./broadcast.ts";

interface Cursor {
  client: number;
  /** The clock others were given last. */
  clock: number;
  state: string;
  /** The connection this cursor belongs to while that is open. */
  holder: object | undefined;
  /** The cursor as an awareness frame, made when first needed: one change goes to many readers. */
  broadcast: Broadcast | undefined;
}

/** What became of the states of one awareness frame. */
export interface CursorChanges {
  /** Clients whose cursor changed for the others. */
  readonly changed: readonly number[];
  /** States that were not this connection's to send, or too large to pass on. */
  readonly droppedCount: number;
  /** Connections that hold a cursor this connection would like to have as its own. */
  readonly contestedHolders: readonly object[];
}

/** Room for the clock to grow when it is written again by the relay. */
const maxStateBytes = maxAwarenessFrameBytes - 64;

/** Cursors that are gone are remembered only for their clock; more than this are forgotten, oldest first. */
const maxAbsentCursors = 1_000;

/**
 * The cursors of one room. Never stored.
 *
 * A connection has one cursor: the first one it names that is not held by another open connection. States for other
 * ids are dropped without an answer, because stock clients echo everybody's states.
 *
 * Clocks are the relay's: a client that reconnects sends its cursor with an unchanged clock, while the others have
 * already seen a greater one (the removal), and would not show it until its next change; nor do stock clients show a
 * first state, whose clock is 0. So what is passed on always has a clock above the last one passed on for that client,
 * and above 0.
 */
export class RoomCursors {
  // Made with the first cursor: a room of programs that show none has none.
  #cursors: Map<number, Cursor> | undefined;
  #clientByHolder: Map<object, number> | undefined;
  #absentCount = 0;

  /** The client whose cursor belongs to a connection, once it has named one. */
  clientOf(holder: object): number | undefined {
    return this.#clientByHolder?.get(holder);
  }

  /** Takes the states a connection sent. */
  receive(holder: object, states: readonly AwarenessState[]): CursorChanges {
    const changed: number[] = [];
    const contestedHolders: object[] = [];
    let droppedCount = 0;
    for (const { client, clock, state } of states) {
      if (Buffer.byteLength(state) > maxStateBytes || !this.#bind(holder, client, state, contestedHolders)) {
        droppedCount += 1;
        continue;
      }
      this.#set(client, clock, state, holder);
      changed.push(client);
    }
    return { changed, droppedCount, contestedHolders };
  }

  #bind(holder: object, client: number, state: string, contestedHolders: object[]): boolean {
    const own = this.clientOf(holder);
    if (own !== undefined) return own === client;
    // Whoever says that somebody left does not say who he is.
    if (state === absentState) return false;
    const other = this.#cursors?.get(client)?.holder;
    if (other !== undefined) {
      contestedHolders.push(other);
      return false;
    }
    this.#clientByHolder ??= new Map();
    this.#clientByHolder.set(holder, client);
    return true;
  }

  /** Ends a connection's cursor. Returns its client when the others have to be told. */
  remove(holder: object): number | undefined {
    const client = this.clientOf(holder);
    if (client === undefined) return undefined;
    this.#clientByHolder?.delete(holder);
    const wasShown = this.#cursors?.get(client)?.state !== absentState;
    this.#set(client, 0, absentState, undefined);
    this.#forgetOldest();
    return wasShown ? client : undefined;
  }

  #set(client: number, clock: number, state: string, holder: object | undefined): void {
    this.#cursors ??= new Map();
    const before = this.#cursors.get(client);
    if (before !== undefined && before.holder === undefined) this.#absentCount -= 1;
    if (holder === undefined) this.#absentCount += 1;
    // At the largest clock a removal still counts: receivers take `null` for a clock they know.
    const next = Math.min(Math.max(clock, (before?.clock ?? 0) + 1), maxAwarenessClock);
    // Deleted first, so that the map's order is that of the last change.
    this.#cursors.delete(client);
    this.#cursors.set(client, { client, clock: next, state, holder, broadcast: undefined });
  }

  #forgetOldest(): void {
    if (this.#cursors === undefined || this.#absentCount <= maxAbsentCursors) return;
    for (const [client, { holder }] of this.#cursors) {
      if (holder !== undefined) continue;
      this.#cursors.delete(client);
      this.#absentCount -= 1;
      return;
    }
  }

  /** Clients that show a cursor now. */
  present(): number[] {
    if (this.#cursors === undefined) return [];
    return [...this.#cursors.values()].filter(({ state }) => state !== absentState).map(({ client }) => client);
  }

  /** Cursors of these clients as awareness frames, each within the limit of one. */
  *encodeFrames(clients: ReadonlySet<number>): Generator<Broadcast> {
    const cursors = [...clients].flatMap((client) => this.#cursors?.get(client) ?? []);
    const [first] = cursors;
    if (first !== undefined && cursors.length === 1) {
      first.broadcast ??= encodeStates([first]);
      yield first.broadcast;
      return;
    }
    let states: AwarenessState[] = [];
    let bytes = 0;
    for (const { client, clock, state } of cursors) {
      const added = Buffer.byteLength(state) + 32;
      if (bytes + added > maxAwarenessFrameBytes && states.length > 0) {
        yield encodeStates(states);
        states = [];
        bytes = 0;
      }
      states.push({ client, clock, state });
      bytes += added;
    }
    if (states.length > 0) yield encodeStates(states);
  }
}

const encodeStates = (states: readonly AwarenessState[]): Broadcast =>
  prepareBroadcast(encodeFrame({ type: "awareness", states }));
