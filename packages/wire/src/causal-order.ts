import type { Result } from "@coppice/core";
import { maxChunkBytes, maxClientsPerUpdate, maxStructsPerUpdate } from "./limits.ts";
import { encodeUpdate, type Struct } from "./update-grammar.ts";

/** What a room does with the structs of an update. */
export interface Admission {
  /** Structs the room holds already, by their ids; whether their content is the same is for the caller to compare. */
  readonly known: readonly Struct[];
  /** New structs that fit, each after its origin and its client's previous struct. */
  readonly accepted: readonly Struct[];
  /** Whether structs were left out because something before them has not arrived. */
  readonly isMissingSome: boolean;
}

/**
 * Sorts the structs of one update into what a room holds, what it can take and what must wait. A struct can be taken
 * when its client's previous struct and its origin are held or can be taken before it, wherever in the update they
 * stand: honest answers to SyncStep1 point to later sections. Error `cycle` when structs wait for each other, which no
 * honest history has. Pure; linear in the number of structs.
 *
 * @param held number of structs the room holds of a client
 */
export function admitStructs(structs: readonly Struct[], held: (client: number) => number): Result<Admission, "cycle"> {
  const known: Struct[] = [];
  const fresh: Struct[] = [];
  for (const struct of structs) (struct.clock < held(struct.client) ? known : fresh).push(struct);
  const queues = groupIntoQueues(fresh, held);
  const order = new CausalOrder(queues, held);
  if (!order.run()) return { ok: false, error: "cycle" };
  const accepted = order.ordered;
  return { ok: true, value: { known, accepted, isMissingSome: accepted.length < fresh.length } };
}

/**
 * Puts structs into an order in which each follows its origin and its client's previous struct. Whatever is not among
 * them counts as held by the reader. The structs of one client must come in ascending clocks, as `parseUpdate` gives
 * them. Error `cycle` when there is no such order.
 */
export function orderStructs(structs: readonly Struct[]): Result<readonly Struct[], "cycle"> {
  const queues = groupIntoQueues(structs, undefined);
  const order = new CausalOrder(queues, undefined);
  return order.run() ? { ok: true, value: order.ordered } : { ok: false, error: "cycle" };
}

/** The structs of one client that still wait, and how far that client's structs are available. */
interface ClientQueue {
  readonly client: number;
  readonly structs: Struct[];
  /** Index of the first struct not placed yet. */
  next: number;
  /** Structs of this client with smaller clocks are available to others. */
  available: number;
  /** Nothing more of this client can be placed: something is missing before its next struct. */
  isBlocked: boolean;
  /** On the stack of clients being worked on. */
  isActive: boolean;
}

function groupIntoQueues(
  structs: readonly Struct[],
  held: ((client: number) => number) | undefined,
): Map<number, ClientQueue> {
  const queues = new Map<number, ClientQueue>();
  for (const struct of structs) {
    const { client, clock } = struct;
    const queue = queues.get(client);
    if (queue !== undefined) queue.structs.push(struct);
    else {
      const available = held === undefined ? clock : held(client);
      queues.set(client, { client, structs: [struct], next: 0, available, isBlocked: false, isActive: false });
    }
  }
  return queues;
}

/**
 * Depth-first placing with a stack of our own. The stack holds each client at most once, each struct is placed once,
 * and a struct is looked at again only after the one it waited for was placed or found missing: linear.
 */
class CausalOrder {
  readonly ordered: Struct[] = [];
  readonly #queues: ReadonlyMap<number, ClientQueue>;
  /** Undefined: what is not in the queues counts as held, and holes in a queue too. */
  readonly #held: ((client: number) => number) | undefined;

  constructor(queues: ReadonlyMap<number, ClientQueue>, held: ((client: number) => number) | undefined) {
    this.#queues = queues;
    this.#held = held;
  }

  /** Places all it can; false when a cycle stands in the way. */
  run(): boolean {
    for (const queue of this.#queues.values()) {
      if (!this.#placeFrom(queue)) return false;
    }
    return true;
  }

  #placeFrom(start: ClientQueue): boolean {
    const stack: Array<{ queue: ClientQueue; until: number }> = [];
    const enter = (queue: ClientQueue, until: number): void => {
      queue.isActive = true;
      stack.push({ queue, until });
    };
    enter(start, Number.POSITIVE_INFINITY);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const { queue, until } = top;
      const struct = queue.structs[queue.next];
      if (struct === undefined || queue.isBlocked || queue.available > until) {
        queue.isActive = false;
        stack.pop();
        continue;
      }
      if (this.#held !== undefined && struct.clock > queue.available) {
        queue.isBlocked = true;
        continue;
      }
      const needed = this.#findNeededQueue(struct);
      if (needed === "none") this.#place(queue, struct);
      else if (needed === "missing") queue.isBlocked = true;
      else if (needed.isActive) return false;
      else enter(needed, (struct.origin as { clock: number }).clock);
    }
    return true;
  }

  #place(queue: ClientQueue, struct: Struct): void {
    this.ordered.push(struct);
    queue.next += 1;
    const following = queue.structs[queue.next];
    if (this.#held !== undefined) queue.available = struct.clock + 1;
    else queue.available = following === undefined ? Number.POSITIVE_INFINITY : following.clock;
  }

  /** The queue that has to be placed further before this struct; or that nothing is needed, or nothing can help. */
  #findNeededQueue(struct: Struct): ClientQueue | "none" | "missing" {
    const { origin } = struct;
    if (origin === null) return "none";
    const queue = this.#queues.get(origin.client);
    const available = queue?.available ?? this.#held?.(origin.client) ?? Number.POSITIVE_INFINITY;
    if (origin.clock < available) return "none";
    if (queue === undefined || queue.isBlocked || !this.#hasClock(queue, origin.clock)) return "missing";
    return queue;
  }

  #hasClock(queue: ClientQueue, clock: number): boolean {
    // Without `held` a hole counts as held, so what is asked for is there as far as it can be.
    if (this.#held === undefined) return true;
    let low = queue.next;
    let high = queue.structs.length - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = (queue.structs[middle] as Struct).clock;
      if (found === clock) return true;
      if (found < clock) low = middle + 1;
      else high = middle - 1;
    }
    return false;
  }
}

/** Some structs of a causally ordered list, encoded as one update. */
export interface Chunk {
  readonly structs: readonly Struct[];
  readonly update: Uint8Array;
}

/** Section header: three varuints of at most 8 bytes. Counted per client so that the bound holds without encoding. */
const maxSectionHeaderBytes = 24;
/** Number of sections and the empty delete set. */
const updateFrameBytes = 9;

/**
 * Cuts a causally ordered list into updates of at most `maxBytes`, or of one record when that alone is larger, within
 * the limits of one update. A reader that applies them in order never has to wait for a later one. Lazy: one chunk is
 * encoded at a time.
 */
export function* chunkStructs(structs: Iterable<Struct>, maxBytes: number = maxChunkBytes): Generator<Chunk> {
  let part: Struct[] = [];
  let clients = new Set<number>();
  let bytes = updateFrameBytes;
  for (const struct of structs) {
    const added = struct.encoded.length + (clients.has(struct.client) ? 0 : maxSectionHeaderBytes);
    const isFull =
      bytes + added > maxBytes || part.length >= maxStructsPerUpdate || clients.size >= maxClientsPerUpdate;
    if (isFull && part.length > 0) {
      yield { structs: part, update: encodeUpdate(part) };
      part = [];
      clients = new Set();
      bytes = updateFrameBytes;
    }
    bytes += struct.encoded.length + (clients.has(struct.client) ? 0 : maxSectionHeaderBytes);
    clients.add(struct.client);
    part.push(struct);
  }
  if (part.length > 0) yield { structs: part, update: encodeUpdate(part) };
}
