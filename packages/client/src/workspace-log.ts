import { createUuidV7 } from "@coppice/core";
import {
  isNewer,
  type LogChange,
  type LogRecord,
  RecordCodec,
  type RecordCrypto,
  RecordLog,
  type RoomKeys,
} from "@coppice/storage-yjs";
import type * as Y from "yjs";
import { ListingBuilder, type WorkspaceListing } from "./workspace-listing.ts";
import {
  formatWorkspaceRecord,
  parseWorkspaceRecord,
  type ReadWorkspaceRecord,
  type WorkspaceRecord,
} from "./workspace-records.ts";

interface ReadRecord {
  readonly n: number;
  /** Equal for records that say the same. */
  readonly identity: string;
  readonly content: ReadWorkspaceRecord;
}

/** What a workspace's log is opened with. */
export interface WorkspaceLogOptions {
  /** Absent: an unsealed room. */
  readonly keys: RoomKeys | undefined;
  readonly crypto?: RecordCrypto | undefined;
  readonly deviceId: string;
  /** The list says something else, or may do so. */
  readonly onChange: () => void;
  /** Milliseconds since 1970; default the system clock. */
  readonly now?: (() => number) | undefined;
}

/** Stands where a session's records have their session id, so that no record of a session opens here or the reverse. */
const workspaceSessionId = "workspace";

/** A record that does not open ranks first and says nothing; one of a later version says so. */
const unreadable: ReadRecord = { n: 0, identity: "", content: { kind: "unknown" } };
const newer: ReadRecord = { n: 0, identity: "", content: { kind: "newer" } };

/**
 * The append-only list of a workspace's sessions and devices, in records of the session record format. State is what
 * the records say, taken in the order of (`n`, log position), as "last" is in a session.
 */
export class WorkspaceLog {
  readonly #codec: RecordCodec;
  #log: RecordLog;
  /** Who writes; the workspace sets another when its home turns out to be a copy. */
  deviceId: string;
  readonly #onChange: () => void;
  readonly #now: () => number;
  /** In log order. */
  #records: ReadRecord[] = [];
  #highestNumber = 0;
  /** Undefined: to be read anew. */
  #listing: ListingBuilder | undefined;

  constructor(doc: Y.Doc, { keys, crypto, deviceId, onChange, now }: WorkspaceLogOptions) {
    this.#codec = new RecordCodec({ sessionId: workspaceSessionId, keys, crypto });
    this.deviceId = deviceId;
    this.#onChange = onChange;
    this.#now = now ?? Date.now;
    this.#log = new RecordLog(doc, (change) => this.#takeChange(change));
  }

  /** What the records say now. */
  get listing(): WorkspaceListing {
    this.#listing ??= this.#readListing();
    return this.#listing;
  }

  /** Appends one record; it is in the document when the call returns, durability is the replica's matter. */
  append(record: WorkspaceRecord): void {
    const id = createUuidV7();
    const timestamp = new Date(this.#now()).toISOString();
    this.#log.append([
      this.#codec.prepareRecord({
        id,
        parentId: null,
        type: record.type,
        timestamp,
        deviceId: this.deviceId,
        n: 1 + this.#findHighestNumber(),
        json: formatWorkspaceRecord(record, id, timestamp),
      }),
    ]);
  }

  /**
   * Goes on with another document of the same room, and appends these records to it as far as it does not hold them.
   * Returns those that do not open.
   */
  rebase(doc: Y.Doc, setAside: readonly LogRecord[]): readonly LogRecord[] {
    this.#log.close();
    this.#records = [];
    this.#highestNumber = 0;
    this.#log = new RecordLog(doc, (change) => this.#takeChange(change));
    const known = new Set(this.#records.map(({ identity }) => identity));
    const unreadable: LogRecord[] = [];
    for (const record of setAside) {
      const header = this.#codec.openHeader(record.bytes, record);
      const json = header.ok ? this.#codec.openPayload(record.bytes, record, header.value) : header;
      if (!header.ok || !json.ok) unreadable.push(record);
      else if (!known.has(toIdentity(header.value.id, json.value)))
        this.#log.append([this.#codec.prepareRecord({ ...header.value, json: json.value })]);
    }
    this.#takeChange({ runs: [], remote: true });
    return unreadable;
  }

  /** Stops listening to the document. Safe to call twice. */
  close(): void {
    this.#log.close();
  }

  #takeChange({ runs }: LogChange): void {
    // A number that was too large so far may become an honest one with every record, and its record another rank.
    if (runs.length === 0 || this.#highestNumber > this.#records.length) this.#listing = undefined;
    for (const { position, records } of runs) {
      const read = records.map((record) => this.#read(record));
      // What ranks after all before it is added to what is known; anything else may have come in between.
      if (position < this.#records.length) this.#listing = undefined;
      this.#records.splice(position, 0, ...read);
      for (const record of read) this.#addLast(record);
    }
    this.#onChange();
  }

  #addLast(record: ReadRecord): void {
    if (record.n < this.#highestNumber || record.n > this.#records.length) this.#listing = undefined;
    this.#highestNumber = Math.max(this.#highestNumber, record.n);
    this.#listing?.add(record.content);
  }

  #read(record: LogRecord): ReadRecord {
    const header = this.#codec.openHeader(record.bytes, record);
    if (!header.ok) return isNewer(header.error) ? newer : unreadable;
    const { id, n } = header.value;
    const json = this.#codec.openPayload(record.bytes, record, header.value);
    if (!json.ok) return { ...(isNewer(json.error) ? newer : unreadable), n };
    return { n, identity: toIdentity(id, json.value), content: parseWorkspaceRecord(json.value) };
  }

  /** An honest `n` never exceeds the number of records; a larger one would win for ever, so it counts as none. */
  #rankOf({ n }: ReadRecord): number {
    return n > this.#records.length ? 0 : n;
  }

  #findHighestNumber(): number {
    // As long as every number is honest the highest one is known.
    if (this.#highestNumber <= this.#records.length) return this.#highestNumber;
    return this.#records.reduce((highest, record) => Math.max(highest, this.#rankOf(record)), 0);
  }

  #readListing(): ListingBuilder {
    const listing = new ListingBuilder();
    // The sort is stable: equal ranks stay in log order.
    const ranked = [...this.#records].sort((left, right) => this.#rankOf(left) - this.#rankOf(right));
    for (const { content } of ranked) listing.add(content);
    return listing;
  }
}

function toIdentity(id: string, json: string): string {
  return JSON.stringify([id, json]);
}
