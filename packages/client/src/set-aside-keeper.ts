import type { UpdateLog, UpdateStore } from "@coppice/core";
import type { LogRecord } from "@coppice/storage-yjs";
import type { Struct } from "@coppice/wire";
import {
  decodeSetAside,
  encodeSetAside,
  findFirstClocks,
  joinSetAside,
  pickStructs,
  removeFromLog,
  toLogRecords,
} from "./set-aside.ts";
import type { SyncStatus } from "./sync-status.ts";

/** Values of this device: records that are to be written again, and such that cannot be opened with our keys. */
const setAsideKey = (roomId: string): string => `aside/${roomId}`;
const unreadableKey = (roomId: string): string => `unreadable/${roomId}`;

/** Where a room's records are set aside. */
export interface SetAsideKeeperOptions {
  readonly log: UpdateLog;
  readonly roomId: string;
  /** This device's durable values. Absent: nothing can be set aside. */
  readonly values?: Pick<UpdateStore, "readValue" | "writeValue"> | undefined;
}

/**
 * The records of one room that gave way to others at their places and are to be written again: on the disk from before
 * they leave the log until they are durable at their new places (SPEC CL42).
 */
export class SetAsideKeeper {
  readonly #options: SetAsideKeeperOptions;
  #structs: readonly Struct[];
  #outcome: SyncStatus["setAside"];

  /** Reads what is set aside. A process that ended in the middle of that may have left records in the log: they leave it now. */
  static async open(options: SetAsideKeeperOptions): Promise<SetAsideKeeper> {
    const structs = decodeSetAside(await options.values?.readValue(setAsideKey(options.roomId)));
    if (structs.length > 0) await removeFromLog(options.log, structs);
    return new SetAsideKeeper(options, structs);
  }

  private constructor(options: SetAsideKeeperOptions, structs: readonly Struct[]) {
    this.#options = options;
    this.#structs = structs;
  }

  /** Whether records can be set aside. */
  get isAvailable(): boolean {
    return this.#options.values !== undefined;
  }

  /** What is set aside now. */
  get records(): readonly LogRecord[] {
    return toLogRecords(this.#structs);
  }

  /** The first clock of each client id among what is set aside. */
  get firstClocks(): Map<number, number> {
    return findFirstClocks(this.#structs);
  }

  /** What became of records set aside since this was opened; undefined when there were none. */
  get outcome(): SyncStatus["setAside"] {
    return this.#outcome;
  }

  /** Adds records that have left the document. They stay in the log until `moveOut`. */
  add(structs: readonly Struct[]): void {
    this.#structs = joinSetAside(this.#structs, structs);
  }

  /** The records are durable elsewhere before they leave the log. May be repeated. */
  async moveOut(): Promise<void> {
    const { log, roomId, values } = this.#options;
    await values?.writeValue(setAsideKey(roomId), encodeSetAside(this.#structs));
    await removeFromLog(log, this.#structs);
  }

  /** All but `unreadable` have been handed to who writes them again. */
  noteHandedOver(unreadable: readonly LogRecord[]): void {
    const before = this.#outcome ?? { restored: 0, unreadable: 0 };
    this.#outcome = {
      restored: before.restored + this.#structs.length - unreadable.length,
      unreadable: before.unreadable + unreadable.length,
    };
  }

  /** What was written again is durable, and the value has done its work; what nobody could open is kept. May be repeated. */
  async finish(unreadable: readonly LogRecord[]): Promise<void> {
    const { roomId, values } = this.#options;
    const kept = pickStructs(this.#structs, unreadable);
    if (kept.length > 0) {
      const before = decodeSetAside(await values?.readValue(unreadableKey(roomId)));
      await values?.writeValue(unreadableKey(roomId), encodeSetAside(joinSetAside(before, kept)));
    }
    await values?.writeValue(setAsideKey(roomId), undefined);
    this.#structs = [];
  }
}
