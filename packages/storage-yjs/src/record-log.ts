import { insertAt, SessionError } from "@coppice/core";
import * as Y from "yjs";
import type { PreparedRecord, RecordPlace } from "./record-codec.ts";

/*
 * The one file that knows the shape of the doc: one root `Y.Array` named "entries", of `Uint8Array`, one element per
 * record, only ever pushed to. Bytes, because Yjs merges neighbouring items of any other content and copies them at
 * every append.
 *
 * It works below Y.Array's own methods, which walk the list: `push` starts at the first item after each remote change,
 * and an event's `delta` visits every item. Yjs exports all that is used here (`Item`, `ContentBinary`, `findIndexSS`).
 */

/** Name of the root type. Part of the format: the relay checks it in every update. */
export const ENTRIES_NAME = "entries";

/** Most bytes of records in one transaction, and so in one update, unless a single record is larger. */
export const MAX_TRANSACTION_BYTES: number = 256 * 1024;

/** Around a record in an update: its info byte, origin and length prefix, and the update's own frame. */
const STRUCT_OVERHEAD_BYTES = 32;

/** A record of the log. */
export interface LogRecord extends RecordPlace {
  /** Owned by the doc: not to be changed. */
  readonly bytes: Uint8Array;
}

/** Records that became part of the log side by side. */
export interface RecordRun {
  /** Position in the log of the first one, after the change; the others follow. */
  readonly position: number;
  readonly records: readonly LogRecord[];
}

/** What one transaction added. */
export interface LogChange {
  /** In log order. Applying them first to last to a list of the records before gives the list after. */
  readonly runs: readonly RecordRun[];
  /** True when the records came by an update from outside this doc. */
  readonly remote: boolean;
}

/** The records of a doc, in log order, and the way to append to them. */
export class RecordLog {
  readonly #doc: Y.Doc;
  readonly #array: Y.Array<unknown>;
  readonly #onChange: (change: LogChange) => void;
  /** All records in log order. Deleted ones stay, so that a foreign delete takes nothing away from a running session. */
  readonly #items: Y.Item[] = [];
  /**
   * What has been looked at: next clock by client id. Kept here instead of comparing the transaction's `beforeState`
   * and `afterState`, because a transaction made by another observer may already be in the list by then.
   */
  readonly #seenClockByClient = new Map<number, number>();
  #foreignCount = 0;
  /** Where the record stood that was placed last, at that moment: a place to look first. */
  #lastPlaced = -1;

  /** Throws `version_mismatch` for the doc of another copy of yjs. Reads the doc, calls `onChange` once with what it holds already (if anything), then after each transaction that adds records. */
  constructor(doc: Y.Doc, onChange: (change: LogChange) => void) {
    if (!(doc instanceof Y.Doc)) {
      // The other copy's items are none of this one's: all would seem well until the next open finds no record.
      throw new SessionError(
        "version_mismatch",
        "The doc was made by another copy of yjs than the one @coppice/storage-yjs uses; install yjs once (`npm ls yjs` shows the copies)",
      );
    }
    this.#doc = doc;
    this.#array = doc.getArray(ENTRIES_NAME);
    this.#onChange = onChange;
    this.#takeAll();
    doc.on("afterTransaction", this.#handleTransaction);
  }

  /** Records in the log, whether anybody can read them or not. */
  get recordCount(): number {
    return this.#items.length;
  }

  /** Elements of the array that are no records: other content than bytes, and what somebody deleted. */
  get foreignCount(): number {
    return this.#foreignCount;
  }

  /** True while the doc holds updates back whose predecessors have not arrived. */
  get isWaiting(): boolean {
    return this.#doc.store.pendingStructs !== null;
  }

  /**
   * Appends records at the end of the log, in as few transactions as the size limit allows. All of it is in the doc,
   * and `onChange` has been told, when the call returns. Must not be called inside a transaction of the doc.
   */
  append(prepared: readonly PreparedRecord[]): void {
    for (const group of groupBySize(prepared)) {
      this.#doc.transact((transaction) => {
        const clientId = this.#doc.clientID;
        const firstClock = Y.getState(this.#doc.store, clientId);
        // Sealed before the first is put in: a failure leaves the doc as it was.
        const records = group.map((record, index) => record.placeAt({ clientId, clock: firstClock + index }));
        let last = this.#findLastItem();
        for (const [index, bytes] of records.entries()) {
          const id = Y.createID(clientId, firstClock + index);
          const item = new Y.Item(
            id,
            last,
            last?.lastId ?? null,
            null,
            null,
            this.#array,
            null,
            new Y.ContentBinary(bytes),
          );
          item.integrate(transaction, 0);
          last = item;
        }
      }, this);
    }
  }

  /** Stops listening to the doc. Safe to call twice. */
  close(): void {
    this.#doc.off("afterTransaction", this.#handleTransaction);
  }

  #handleTransaction = (transaction: Y.Transaction): void => {
    // Deleting is no part of the format, so nothing is kept to make counting it cheap.
    if (transaction.deleteSet.clients.size > 0) this.#countForeign();
    this.#takeNew(!transaction.local);
  };

  /** Reads the doc as it is: one walk through the list, whatever the clients in it. */
  #takeAll(): void {
    for (const client of this.#doc.store.clients.keys()) {
      this.#seenClockByClient.set(client, Y.getState(this.#doc.store, client));
    }
    const records: LogRecord[] = [];
    for (let item = this.#array._start; item !== null; item = item.right) {
      if (isRecord(item)) {
        this.#items.push(item);
        records.push(toLogRecord(item));
      } else {
        this.#foreignCount += item.length;
      }
    }
    if (records.length > 0) this.#onChange({ runs: [{ position: 0, records }], remote: true });
  }

  /** Finds structs that have not been looked at, gives the records among them their positions, and tells. */
  #takeNew(remote: boolean): void {
    const newItems = new Set<Y.Item>();
    for (const [client, structs] of this.#doc.store.clients) {
      const seenClock = this.#seenClockByClient.get(client) ?? 0;
      const clock = Y.getState(this.#doc.store, client);
      if (clock === seenClock) continue;
      this.#seenClockByClient.set(client, clock);
      for (let index = Y.findIndexSS(structs, seenClock); index < structs.length; index++) {
        const struct = structs[index];
        // An item with a parentSub is a map entry: the array's list does not hold it.
        if (!(struct instanceof Y.Item) || struct.parent !== this.#array || struct.parentSub !== null) continue;
        if (isRecord(struct)) newItems.add(struct);
        else this.#foreignCount += struct.length;
      }
    }
    if (newItems.size > 0) this.#onChange({ runs: this.#placeItems(newItems), remote });
  }

  /** Puts new items where the doc has them. */
  #placeItems(newItems: ReadonlySet<Y.Item>): RecordRun[] {
    const found: { anchorEnd: number; items: Y.Item[] }[] = [];
    const placed = new Set<Y.Item>();
    for (const item of newItems) {
      if (placed.has(item)) continue;
      let head = item;
      let anchor = recordBefore(head);
      for (; anchor !== null && newItems.has(anchor); anchor = recordBefore(head)) head = anchor;
      const items: Y.Item[] = [];
      for (let next: Y.Item | null = head; next !== null && newItems.has(next); next = recordAfter(next)) {
        placed.add(next);
        items.push(next);
      }
      found.push({ anchorEnd: this.#findEnd(anchor), items });
    }
    // Positions were looked up in the list as it was before.
    found.sort((a, b) => a.anchorEnd - b.anchorEnd);
    let inserted = 0;
    return found.map(({ anchorEnd, items }) => {
      const position = anchorEnd + inserted;
      insertAt(this.#items, position, items);
      inserted += items.length;
      this.#lastPlaced = position + items.length - 1;
      return { position, records: items.map(toLogRecord) };
    });
  }

  /**
   * The position behind a record and the deleted ones that follow it; null: behind those at the beginning. New records
   * mostly follow the last one of all or the one that was placed last: two devices that were offline for long send
   * theirs one by one.
   */
  #findEnd(anchor: Y.Item | null): number {
    const items = this.#items;
    let end = 0;
    if (anchor !== null) {
      const known = [items.length - 1, this.#lastPlaced].find((position) => items[position] === anchor);
      end = (known ?? items.lastIndexOf(anchor)) + 1;
    }
    while (end < items.length && items[end]?.deleted) end++;
    return end;
  }

  /**
   * The last item of the array, whatever it holds. Looked for from the last record on: items of bytes are never
   * merged, so that one is still in the list unless somebody deleted it.
   */
  #findLastItem(): Y.Item | null {
    const lastRecord = this.#items[this.#items.length - 1];
    let last: Y.Item | null = lastRecord === undefined || lastRecord.deleted ? this.#array._start : lastRecord;
    while (last !== null && last.right !== null) last = last.right;
    return last;
  }

  #countForeign(): void {
    this.#foreignCount = 0;
    for (let item = this.#array._start; item !== null; item = item.right) {
      const isCounted = item.id.clock < (this.#seenClockByClient.get(item.id.client) ?? 0);
      if (isCounted && !isRecord(item)) this.#foreignCount += item.length;
    }
  }
}

function isRecord(item: Y.Item): boolean {
  return !item.deleted && item.content instanceof Y.ContentBinary;
}

/** The record to the left; null: there is none. What is no record, or deleted, is passed over. */
function recordBefore(item: Y.Item): Y.Item | null {
  let left = item.left;
  while (left !== null && !isRecord(left)) left = left.left;
  return left;
}

/** The record to the right, in the same way. */
function recordAfter(item: Y.Item): Y.Item | null {
  let right = item.right;
  while (right !== null && !isRecord(right)) right = right.right;
  return right;
}

function toLogRecord(item: Y.Item): LogRecord {
  const { content } = item;
  const bytes = content instanceof Y.ContentBinary ? content.content : new Uint8Array(0);
  return { clientId: item.id.client, clock: item.id.clock, bytes };
}

/** Cuts a list into groups that each fit one transaction; a record that is larger alone gets its own. */
function* groupBySize(prepared: readonly PreparedRecord[]): Generator<PreparedRecord[]> {
  let group: PreparedRecord[] = [];
  let groupBytes = 0;
  for (const record of prepared) {
    const bytes = record.byteLength + STRUCT_OVERHEAD_BYTES;
    if (group.length > 0 && groupBytes + bytes > MAX_TRANSACTION_BYTES) {
      yield group;
      group = [];
      groupBytes = 0;
    }
    group.push(record);
    groupBytes += bytes;
  }
  if (group.length > 0) yield group;
}
