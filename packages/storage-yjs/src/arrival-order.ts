import { createNewerVersionError, SessionError } from "@coppice/core";
import * as decoding from "lib0/decoding";
import * as encoding from "lib0/encoding";
import * as Y from "yjs";
import type { RecordPlace } from "./record-codec.ts";

/** Records of one client that arrived together: `count` clocks on from the first that had not arrived before. */
interface ArrivedRange {
  readonly clientId: number;
  readonly count: number;
}

/** What is kept of one client: clock after each of its ranges, and the batch the range is part of. */
interface ClientArrivals {
  readonly ends: number[];
  readonly batches: number[];
}

const FORMAT_VERSION = 1;

/**
 * In which order records arrived at this replica. Log order does not tell: a record may land before others that have
 * been here for long. So this is data of a device's log, kept with it, and not derived. What one transaction brought
 * is a batch; within a batch the log order counts, which never changes between two records, and within a batch of one
 * client's records their clocks. SPEC YS.
 */
export class ArrivalOrder {
  readonly #batches: ArrivedRange[][] = [];
  readonly #arrivalsByClient = new Map<number, ClientArrivals>();

  /** Reads what `encode` wrote; undefined for anything else. Throws `version_mismatch` for a later version. */
  static decode(bytes: Uint8Array): ArrivalOrder | undefined {
    try {
      const decoder = decoding.createDecoder(bytes);
      const version = decoding.readVarUint(decoder);
      if (version > FORMAT_VERSION) throw createNewerVersionError("The order in which records arrived here");
      if (version !== FORMAT_VERSION) return undefined;
      const clientIds: number[] = [];
      for (let left = decoding.readVarUint(decoder); left > 0; left--) clientIds.push(decoding.readVarUint(decoder));
      const order = new ArrivalOrder();
      for (let left = decoding.readVarUint(decoder); left > 0; left--) {
        const ranges: ArrivedRange[] = [];
        for (let ranged = decoding.readVarUint(decoder); ranged > 0; ranged--) {
          const clientId = clientIds[decoding.readVarUint(decoder)];
          if (clientId === undefined) return undefined;
          ranges.push({ clientId, count: decoding.readVarUint(decoder) });
        }
        order.#addBatch(ranges);
      }
      return decoding.hasContent(decoder) ? undefined : order;
    } catch (error) {
      if (error instanceof SessionError) throw error;
      // The bytes end too early: lib0 throws for nothing else.
      return undefined;
    }
  }

  /** Version, client ids, batches; a range is the index of its client id and its count. SPEC YS, "Arrival order". */
  encode(): Uint8Array {
    const indexByClient = new Map(Array.from(this.#arrivalsByClient.keys(), (clientId, index) => [clientId, index]));
    return encoding.encode((encoder) => {
      encoding.writeVarUint(encoder, FORMAT_VERSION);
      encoding.writeVarUint(encoder, indexByClient.size);
      for (const clientId of indexByClient.keys()) encoding.writeVarUint(encoder, clientId);
      encoding.writeVarUint(encoder, this.#batches.length);
      for (const ranges of this.#batches) {
        encoding.writeVarUint(encoder, ranges.length);
        for (const { clientId, count } of ranges) {
          encoding.writeVarUint(encoder, indexByClient.get(clientId) ?? 0);
          encoding.writeVarUint(encoder, count);
        }
      }
    });
  }

  /** As `encode`, without records from these clocks on, by client id: those that are not durable yet. */
  encodeWithout(fromByClient: ReadonlyMap<number, number>): Uint8Array {
    if (fromByClient.size === 0) return this.encode();
    const copy = new ArrivalOrder();
    for (const ranges of this.#batches) copy.#addBatch(ranges);
    copy.forget(fromByClient);
    return copy.encode();
  }

  /** Takes note of what a doc holds and is not yet known to have arrived, as one batch. */
  addNew(doc: Y.Doc): void {
    const ranges: ArrivedRange[] = [];
    for (const clientId of doc.store.clients.keys()) {
      const count = Y.getState(doc.store, clientId) - this.#nextClock(clientId);
      if (count > 0) ranges.push({ clientId, count });
    }
    // Yjs keeps clients in the order in which it met them, which differs from one load to the next.
    if (ranges.length > 0) this.#addBatch(ranges.sort((a, b) => a.clientId - b.clientId));
  }

  /** Does `addNew` now and after each transaction. Returns the function that stops it. */
  follow(doc: Y.Doc): () => void {
    const addNew = (): void => this.addNew(doc);
    addNew();
    doc.on("afterTransaction", addNew);
    return () => doc.off("afterTransaction", addNew);
  }

  /** Forgets records from these clocks on, by client id: they have left the doc, and others may arrive at their places. */
  forget(fromByClient: ReadonlyMap<number, number>): void {
    if (fromByClient.size === 0) return;
    const batches = this.#batches.splice(0);
    this.#arrivalsByClient.clear();
    for (const ranges of batches) {
      const kept = ranges.flatMap(({ clientId, count }) => {
        const room = (fromByClient.get(clientId) ?? Number.POSITIVE_INFINITY) - this.#nextClock(clientId);
        return room > 0 ? [{ clientId, count: Math.min(count, room) }] : [];
      });
      if (kept.length > 0) this.#addBatch(kept);
    }
  }

  /**
   * Forgets what a doc does not hold. An order that was saved before a crash may speak of records that were never durable;
   * when they come again they arrive then.
   */
  forgetMissing(doc: Y.Doc): void {
    const missing = new Map<number, number>();
    for (const clientId of this.#arrivalsByClient.keys()) {
      const held = Y.getState(doc.store, clientId);
      if (held < this.#nextClock(clientId)) missing.set(clientId, held);
    }
    this.forget(missing);
  }

  /** Whether everything that is known to have arrived in `other` is known here too. */
  covers(other: ArrivalOrder): boolean {
    return [...other.#arrivalsByClient.keys()].every(
      (clientId) => this.#nextClock(clientId) >= other.#nextClock(clientId),
    );
  }

  /** Puts records, given in log order, in the order of their arrival. Those that are not known come last. */
  sort<Item>(items: readonly Item[], placeOf: (item: Item) => RecordPlace): Item[] {
    const keyed = items.map((item) => {
      const { clientId, clock } = placeOf(item);
      const batch = this.#findBatch(clientId, clock);
      return { item, batch, clock: this.#batches[batch]?.length === 1 ? clock : 0 };
    });
    return keyed.sort((a, b) => a.batch - b.batch || a.clock - b.clock).map(({ item }) => item);
  }

  /** A client that goes on writing makes one batch longer, so that a device alone needs a few bytes. */
  #addBatch(ranges: readonly ArrivedRange[]): void {
    const [first] = ranges;
    const last = this.#batches.at(-1);
    const [only] = last ?? [];
    if (ranges.length === 1 && last?.length === 1 && first !== undefined && only?.clientId === first.clientId) {
      this.#batches[this.#batches.length - 1] = [{ clientId: first.clientId, count: only.count + first.count }];
      const arrivals = this.#arrivalsOf(first.clientId);
      arrivals.ends[arrivals.ends.length - 1] = this.#nextClock(first.clientId) + first.count;
      return;
    }
    for (const { clientId, count } of ranges) {
      const arrivals = this.#arrivalsOf(clientId);
      arrivals.ends.push((arrivals.ends.at(-1) ?? 0) + count);
      arrivals.batches.push(this.#batches.length);
    }
    this.#batches.push([...ranges]);
  }

  #arrivalsOf(clientId: number): ClientArrivals {
    const known = this.#arrivalsByClient.get(clientId);
    if (known !== undefined) return known;
    const arrivals: ClientArrivals = { ends: [], batches: [] };
    this.#arrivalsByClient.set(clientId, arrivals);
    return arrivals;
  }

  #nextClock(clientId: number): number {
    return this.#arrivalsByClient.get(clientId)?.ends.at(-1) ?? 0;
  }

  #findBatch(clientId: number, clock: number): number {
    const arrivals = this.#arrivalsByClient.get(clientId);
    if (arrivals === undefined || clock >= this.#nextClock(clientId)) return this.#batches.length;
    let [low, high] = [0, arrivals.ends.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (clock < (arrivals.ends[middle] ?? 0)) high = middle;
      else low = middle + 1;
    }
    return arrivals.batches[low] ?? this.#batches.length;
  }
}
