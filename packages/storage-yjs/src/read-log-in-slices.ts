import type { Slices } from "@coppice/core";
import type { EntryNode } from "./entry-node.ts";
import type { IndexedRecord, IndexSnapshotReader } from "./index-snapshot.ts";
import type { RecordProblem } from "./record-codec.ts";
import type { LogChange, LogRecord } from "./record-log.ts";

/** Records that became part of the log side by side, as the index has them. */
export interface IndexedRun {
  readonly position: number;
  readonly indexed: readonly IndexedRecord[];
}

/** Where what is read goes. */
export interface LogIndex {
  /** What a record is to the index: as `taken` says, or else by opening it. */
  index(record: LogRecord, taken: EntryNode | RecordProblem | undefined): IndexedRecord;
  insert(run: IndexedRun): void;
}

/**
 * Takes a log into an index, with a snapshot's help, and with it whatever is added to `unread` while that lasts; gives
 * way to other work between slices. Returns how many records the snapshot spared.
 */
export async function readLogInSlices(
  unread: LogChange[],
  snapshot: IndexSnapshotReader | undefined,
  target: LogIndex,
  slices: Slices,
): Promise<number> {
  let reader = snapshot;
  let takenCount = 0;
  const take = (record: LogRecord): EntryNode | RecordProblem | undefined => {
    try {
      const taken = reader?.take(record);
      if (taken !== undefined) takenCount++;
      return taken;
    } catch {
      // Sealed by this device and yet not what it should be: derived data of no use.
      reader = undefined;
      return undefined;
    }
  };
  for (let change = unread.shift(); change !== undefined; change = unread.shift()) {
    for (const { position, records } of change.runs) {
      let run: { position: number; indexed: IndexedRecord[] } = { position, indexed: [] };
      for (const record of records) {
        run.indexed.push(target.index(record, take(record)));
        if (!slices.isOver) continue;
        target.insert(run);
        run = { position: run.position + run.indexed.length, indexed: [] };
        await slices.next();
      }
      if (run.indexed.length > 0) target.insert(run);
    }
    // It speaks of the log as it was found; what came later stands elsewhere.
    reader = undefined;
  }
  return takenCount;
}
