import type { Result, SessionEntry, SessionHeader } from "@coppice/core";
import { EntryNode, headerToNode } from "./entry-node.ts";
import type { EntryPayloads } from "./entry-payloads.ts";
import type { IndexedRecord, OtherRecord } from "./index-snapshot.ts";
import type { PreparedRecord, RecordCodec, RecordContent, RecordProblem } from "./record-codec.ts";
import type { RecordHeader } from "./record-header.ts";
import type { LogRecord } from "./record-log.ts";
import { RecordNumbers } from "./record-numbers.ts";
import { SessionHeaderChoice } from "./session-header-choice.ts";
import { UnreadableRecords } from "./unreadable-records.ts";

/** Type of the record that holds the session's header; not an entry. */
export const HEADER_TYPE = "session";

/** What a session's records are made and read with. */
export interface SessionRecordsOptions {
  readonly sessionId: string;
  readonly codec: RecordCodec;
  readonly payloads: EntryPayloads;
  /** Hears which devices wrote a header of the session. */
  readonly noteCreator: (deviceId: string) => void;
}

/** A record written here: it need not be opened on its way back. */
interface WrittenRecord {
  readonly header: RecordHeader;
  readonly json: string;
  readonly entry: SessionEntry | undefined;
}

/**
 * The records of one session on their way into the log and out of it: seals what is written, finds out what each record
 * of the log is to the index, and knows from them the session's header, the next number and what does not open.
 */
export class SessionRecords {
  readonly unreadable: UnreadableRecords = new UnreadableRecords();
  readonly #options: SessionRecordsOptions;
  readonly #writtenByBytes = new WeakMap<Uint8Array, WrittenRecord>();
  #header: SessionHeaderChoice;
  #numbers = new RecordNumbers();

  constructor(options: SessionRecordsOptions) {
    this.#options = options;
    this.#header = new SessionHeaderChoice(options.sessionId);
  }

  /** The session's header; undefined while there is none that opens. */
  get header(): SessionHeader | undefined {
    return this.#header.header;
  }

  /** Its exact text. */
  get headerJson(): string | undefined {
    return this.#header.json;
  }

  /** Forgets what the log held: it is about to be read anew. */
  forgetLog(): void {
    this.#header = new SessionHeaderChoice(this.#options.sessionId);
    this.#numbers = new RecordNumbers();
    this.unreadable.clear();
  }

  /** The `n` of the next record of a log that has so many. */
  nextNumber(recordCount: number): number {
    return this.#numbers.next(recordCount);
  }

  /** Makes a record ready to be placed. What is known of it, its entry included, spares opening it when it comes back. */
  prepare(content: RecordContent, entry?: SessionEntry): PreparedRecord {
    const prepared = this.#options.codec.prepareRecord(content);
    return {
      ...prepared,
      placeAt: (place) => {
        const bytes = prepared.placeAt(place);
        this.#writtenByBytes.set(bytes, { header: prepared.header, json: content.json, entry });
        return bytes;
      },
    };
  }

  /** Whether this open has written this very record. */
  isWritten(record: LogRecord): boolean {
    return this.#writtenByBytes.has(record.bytes);
  }

  /** What a record is to the index, as `taken` has it or by opening it. What cannot be read is counted. */
  index(record: LogRecord, taken?: EntryNode | RecordProblem): IndexedRecord {
    if (taken instanceof EntryNode) {
      this.#numbers.add(taken.rank);
      return taken;
    }
    if (taken !== undefined) return this.#countProblem(record, taken);
    const { codec, payloads } = this.#options;
    const written = this.#writtenByBytes.get(record.bytes);
    const opened = written ? succeed(written.header) : codec.openHeader(record.bytes, record);
    if (!opened.ok) return this.#countProblem(record, opened.error);
    const header = opened.value;
    this.#numbers.add(header.n);
    if (header.type === HEADER_TYPE) return this.#indexHeader(record, header, written);
    if (header.id === "") return this.#countProblem(record, "malformed");
    const node = headerToNode(header, record);
    if (written?.entry !== undefined) payloads.keep(node, written.entry);
    return node;
  }

  /** Never taken from a snapshot, even as a problem: what it is depends on its payload as well. */
  #indexHeader(record: LogRecord, header: RecordHeader, written: WrittenRecord | undefined): OtherRecord {
    const { codec, noteCreator } = this.#options;
    const payload = written ? succeed(written.json) : codec.openPayload(record.bytes, record, header);
    if (!payload.ok) this.#countProblem(record, payload.error);
    else if (!this.#header.offer(payload.value)) this.#countProblem(record, "malformed");
    else noteCreator(header.deviceId);
    return { record, problem: undefined };
  }

  #countProblem(record: LogRecord, problem: RecordProblem): OtherRecord {
    this.unreadable.add(problem);
    return { record, problem };
  }
}

function succeed<Value>(value: Value): Result<Value, never> {
  return { ok: true, value };
}
