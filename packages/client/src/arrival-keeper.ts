import { ArrivalOrder } from "@coppice/storage-yjs";
import type * as Y from "yjs";

/** A durable value of this device that belongs to one room. */
export interface ArrivalStore {
  read(): Promise<Uint8Array | undefined>;
  /** Settles when it is durable. */
  write(arrivals: Uint8Array): Promise<void>;
}

/**
 * The order in which a room's records arrived on this device: while its log is whole the log tells; before updates are
 * merged it is written down, because the order of single updates is the order of arrival and a chunk has none.
 */
export class ArrivalKeeper {
  readonly order: ArrivalOrder;
  readonly #store: ArrivalStore | undefined;
  #stop: () => void = () => undefined;

  /** Reads what is kept. Without a store the order can be had, and the log must never be merged. */
  static async open(store: ArrivalStore | undefined): Promise<ArrivalKeeper> {
    return new ArrivalKeeper((await readOrder(store)) ?? new ArrivalOrder(), store);
  }

  private constructor(order: ArrivalOrder, store: ArrivalStore | undefined) {
    this.order = order;
    this.#store = store;
  }

  /** Whether the order can be written down. */
  get isKept(): boolean {
    return this.#store !== undefined;
  }

  /** Goes by this doc from now on. */
  follow(doc: Y.Doc): void {
    this.#stop();
    this.#stop = this.order.follow(doc);
  }

  /** Forgets records from these clocks on, which leave the doc: no doc is followed until the next `follow`. */
  forget(firstClocks: ReadonlyMap<number, number>): void {
    this.#stop();
    this.order.forget(firstClocks);
  }

  /**
   * To be called before updates are merged; settles when the order is durable. False when another process has seen
   * records that are not here yet: its order must not be lost. Records from `firstUnsaved` on, by client id, are left
   * out: a crash may take them, and then they arrive when they come again.
   */
  async write(firstUnsaved: () => ReadonlyMap<number, number>): Promise<boolean> {
    const stored = await readOrder(this.#store);
    if (stored !== undefined && !this.order.covers(stored)) return false;
    await this.#store?.write(this.order.encodeWithout(firstUnsaved()));
    return true;
  }

  /** Writes the order again if it has ever been written, whatever it said. */
  async rewrite(): Promise<void> {
    if ((await readOrder(this.#store)) !== undefined) await this.#store?.write(this.order.encode());
  }
}

/** A damaged value is of no use: then chunks count as having arrived at once. Rejects `version_mismatch`. */
async function readOrder(store: ArrivalStore | undefined): Promise<ArrivalOrder | undefined> {
  const bytes = await store?.read();
  return bytes && ArrivalOrder.decode(bytes);
}
