import type { AwarenessState } from "@coppice/wire";
import * as encoding from "lib0/encoding";
import { type Awareness, applyAwarenessUpdate } from "y-protocols/awareness";

/** More client ids than an honest room has at a time; what is named beyond is not taken. */
const maxStates = 4_096;
/** How often this replica contradicts what others say of it, in ms: once at once, then no more than so. */
const contradictionIntervalMs = 1_000;
/** A clock that somebody invented must leave ours room to grow below the largest one that frames carry. */
const highestClockTaken = 2 ** 31;

/**
 * The way of others' cursors into an awareness. Stock awareness takes whatever comes with a greater clock, also for its
 * own client id, so that anybody could move or end this replica's cursor; here what is said of the own client id is
 * never taken, and contradicted when it differs, as somebody else may have believed it. SPEC CU6, CU7.
 */
export class ForeignStates {
  readonly #awareness: Awareness;
  #contradictedAt = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(awareness: Awareness) {
    this.#awareness = awareness;
  }

  /** Takes the states of one frame; `origin` is told to the awareness's listeners. */
  apply(states: readonly AwarenessState[], origin: unknown): void {
    const { clientID } = this.#awareness;
    this.#forgetAbsent();
    const taken: AwarenessState[] = [];
    let room = maxStates - this.#awareness.states.size;
    for (const state of states) {
      if (state.client === clientID) this.#checkOwn(state);
      else if (this.#awareness.meta.has(state.client) || room-- > 0) taken.push(state);
    }
    if (taken.length > 0) applyAwarenessUpdate(this.#awareness, encodeStates(taken), origin);
  }

  /** Stops contradicting. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #checkOwn({ clock, state }: AwarenessState): void {
    const own = this.#awareness.getLocalState();
    const meta = this.#awareness.meta.get(this.#awareness.clientID);
    // The same state comes back from stock clients, which send on what they get, and from a relay after a reconnect.
    if (own === null || meta === undefined || clock < meta.clock || JSON.stringify(own) === state) return;
    meta.clock = Math.max(meta.clock, Math.min(clock, highestClockTaken));
    if (this.#timer !== undefined) return;
    const waitMs = Math.max(0, this.#contradictedAt + contradictionIntervalMs - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#contradictedAt = performance.now();
      this.#awareness.setLocalState(this.#awareness.getLocalState());
    }, waitMs);
  }

  /** Awareness remembers a clock of every client id it ever heard of. */
  #forgetAbsent(): void {
    const { meta, states, clientID } = this.#awareness;
    if (meta.size <= 2 * maxStates) return;
    for (const client of meta.keys()) if (!states.has(client) && client !== clientID) meta.delete(client);
  }
}

/** An awareness update as y-protocols writes it. */
function encodeStates(states: readonly AwarenessState[]): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, states.length);
  for (const { client, clock, state } of states) {
    encoding.writeVarUint(encoder, client);
    encoding.writeVarUint(encoder, clock);
    encoding.writeVarString(encoder, state);
  }
  return encoding.toUint8Array(encoder);
}
