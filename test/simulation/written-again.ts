import type { RecordCodec, RecordHeader } from "@coppice/storage-yjs";
import type { SimulatedDisk } from "@coppice/testkit/simulation";
import type { Struct } from "@coppice/wire";
import { readStructs, type StoredStructs } from "./stored-structs.ts";

/** The entries of a session that devices had to write again, because others' records stood at their places (SPEC CL42). */
export class WrittenAgain {
  readonly #roomId: string;
  readonly #codec: RecordCodec;
  readonly #ids = new Set<string>();
  /** Those of them that a device wrote again without having their parent. */
  readonly #idsWithoutParent = new Set<string>();

  constructor(roomId: string, codec: RecordCodec) {
    this.#roomId = roomId;
    this.#codec = codec;
  }

  /** Notes from now on what a device writes again; `stored` is the account of the same disk. */
  follow(disk: SimulatedDisk, stored: StoredStructs): void {
    let setAside: readonly RecordHeader[] = [];
    disk.onValue = (key, value) => {
      if (key !== `aside/${this.#roomId}`) return;
      if (value !== undefined) {
        // A version byte, then an update.
        setAside = this.#readHeaders(readStructs(value.subarray(1)));
        for (const { id } of setAside) this.#ids.add(id);
        return;
      }
      // All is durable at its new places, and the relay has not been asked for anything since.
      const heldIds = new Set(this.#readHeaders(stored.structs(this.#roomId)).map(({ id }) => id));
      for (const { id, parentId } of setAside)
        if (parentId !== null && !heldIds.has(parentId)) this.#idsWithoutParent.add(id);
    };
  }

  /**
   * Whether an entry may stand before its parent: a parent that was written again stands behind the children that the
   * relay had taken before, and who writes an entry again without having its parent cannot put it behind that.
   */
  mayPrecedeParent(id: string, parentId: string): boolean {
    return this.#ids.has(parentId) || this.#idsWithoutParent.has(id);
  }

  /** Headers of the records that open. */
  #readHeaders(structs: Iterable<Struct>): readonly RecordHeader[] {
    return [...structs].flatMap(({ client, clock, record }) => {
      const header = this.#codec.openHeader(record, { clientId: client, clock });
      return header.ok ? [header.value] : [];
    });
  }
}
