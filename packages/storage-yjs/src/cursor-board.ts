import { type Cursor, type CursorContext, decodeCursor } from "./cursor.ts";

/** What a look at awareness states did. */
export interface CursorChange {
  /** Whether the cursors shown are others now. */
  readonly isChanged: boolean;
  /** Client ids whose state is no cursor, or one too many: of no use to anybody here. */
  readonly useless: readonly number[];
}

interface ShownCursor {
  readonly cursor: Cursor;
  readonly counter: number;
  readonly text: string;
}

/** More replicas than show themselves in one session at a time; what a stranger invents beyond is not kept. */
const maxShownCursors = 1_024;
/** Counters of client ids that are gone are kept as long as there is room, against states of theirs sent again. */
const maxCounters = 4 * maxShownCursors;

/**
 * The cursors of one session, by what its awareness states said. A state that is no cursor, or an older one sent again,
 * neither moves nor hides the cursor that its client id showed before: only the end of the state does that. SPEC CU.
 */
export class CursorBoard {
  #context: CursorContext;
  /** By awareness client id, in the order of their last change. */
  readonly #shown = new Map<number, ShownCursor>();
  readonly #newestCounters = new Map<number, number>();

  constructor(context: CursorContext) {
    this.#context = context;
  }

  /** Reads states by other keys from now on. */
  takeContext(context: CursorContext): void {
    this.#context = context;
  }

  /** Looks at the states of these client ids; one without a state has left. */
  take(clientIds: Iterable<number>, states: ReadonlyMap<number, unknown>): CursorChange {
    const useless: number[] = [];
    let isChanged = false;
    for (const clientId of clientIds) {
      const state = states.get(clientId);
      if (state === undefined) isChanged = this.#shown.delete(clientId) || isChanged;
      else {
        const outcome = this.#show(clientId, state);
        if (outcome === "useless") useless.push(clientId);
        if (outcome === "changed") isChanged = true;
      }
    }
    return { isChanged, useless };
  }

  /** Takes all cursors down; what has been seen of their counters stays. */
  clear(): void {
    this.#shown.clear();
  }

  /**
   * The cursors now, one of each replica, the one that changed last at the end. Of a replica that shows several, as one
   * that took a new client id does, the one with the greatest counter counts, of several the last.
   */
  cursors(): Cursor[] {
    const byReplica = new Map<string, ShownCursor>();
    for (const shown of this.#shown.values()) {
      const { replica } = shown.cursor;
      const other = byReplica.get(replica);
      if (other !== undefined && other.counter > shown.counter) continue;
      byReplica.delete(replica);
      byReplica.set(replica, shown);
    }
    return [...byReplica.values()].map(({ cursor }) => cursor);
  }

  #show(clientId: number, state: unknown): "changed" | "same" | "useless" {
    const before = this.#shown.get(clientId);
    const decoded = decodeCursor(state, clientId, this.#context);
    if (decoded === undefined || decoded.counter < (this.#newestCounters.get(clientId) ?? 0))
      return before === undefined ? "useless" : "same";
    if (before === undefined && this.#shown.size >= maxShownCursors) return "useless";
    this.#remember(clientId, decoded.counter);
    const text = JSON.stringify(decoded.cursor);
    const isSame = before?.text === text;
    if (!isSame) this.#shown.delete(clientId);
    this.#shown.set(clientId, { ...decoded, text });
    return isSame ? "same" : "changed";
  }

  #remember(clientId: number, counter: number): void {
    this.#newestCounters.delete(clientId);
    this.#newestCounters.set(clientId, counter);
    if (this.#newestCounters.size <= maxCounters) return;
    for (const known of this.#newestCounters.keys()) {
      if (this.#shown.has(known)) continue;
      this.#newestCounters.delete(known);
      return;
    }
  }
}

/**
 * The cursor that shows what somebody looks at who follows a device: of its cursors the one an agent runs at, otherwise
 * the one that changed last; whom that follows in turn, as long as it is no circle. `cursors` in the order of
 * `CursorBoard.cursors`, without the follower's own. Undefined while the device shows none.
 */
export function findFollowedCursor(deviceId: string, cursors: readonly Cursor[]): Cursor | undefined {
  const seen = new Set<string>();
  let followed: Cursor | undefined;
  for (let device: string | undefined = deviceId; device !== undefined && !seen.has(device); ) {
    seen.add(device);
    const shown: Cursor[] = cursors.filter((cursor) => cursor.device === device);
    const next: Cursor | undefined = shown.findLast(({ running }) => running) ?? shown.at(-1);
    if (next === undefined) break;
    followed = next;
    device = next.following;
  }
  return followed;
}
