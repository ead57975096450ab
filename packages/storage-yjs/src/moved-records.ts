import { EntryNode } from "./entry-node.ts";
import type { IndexedRecord } from "./index-snapshot.ts";
import type { RecordCodec, RecordContent, RecordProblem } from "./record-codec.ts";
import type { LogRecord } from "./record-log.ts";
import { areBytesEqual } from "./text-codec.ts";
import { isKeyProblem } from "./unreadable-records.ts";

/*
 * What a session needs to know of records when it goes on with another doc of its room: which of them it has opened
 * before, and what those say that had to leave the log.
 */

/** What was found out about the records of a doc. */
export class OpenedBefore {
  readonly #indexedByPlace: ReadonlyMap<string, IndexedRecord>;

  constructor(records: readonly IndexedRecord[]) {
    this.#indexedByPlace = new Map(records.map((indexed) => [placeKey(indexed.record), indexed]));
  }

  /** Of this very record, at this place; undefined when it has to be opened. */
  find(record: LogRecord): EntryNode | RecordProblem | undefined {
    const before = this.#indexedByPlace.get(placeKey(record));
    if (before === undefined || !areBytesEqual(before.record.bytes, record.bytes)) return undefined;
    if (before instanceof EntryNode) return new EntryNode(before, record);
    // The key may have come since.
    return isKeyProblem(before.problem) ? undefined : before.problem;
  }
}

/** What records say, one after the other; those that do not open, or are of no entry, go to `unreadable`. */
export function* openRecords(
  records: readonly LogRecord[],
  codec: RecordCodec,
  unreadable: LogRecord[],
): Generator<RecordContent> {
  for (const record of records) {
    const header = codec.openHeader(record.bytes, record);
    const json = header.ok ? codec.openPayload(record.bytes, record, header.value) : header;
    if (header.ok && json.ok && header.value.id !== "") yield { ...header.value, json: json.value };
    else unreadable.push(record);
  }
}

/** The first clock of each client id. */
export function findFirstClocks(records: readonly LogRecord[]): Map<number, number> {
  const clocks = new Map<number, number>();
  for (const { clientId, clock } of records) clocks.set(clientId, Math.min(clock, clocks.get(clientId) ?? clock));
  return clocks;
}

function placeKey({ clientId, clock }: LogRecord): string {
  return `${clientId}:${clock}`;
}
