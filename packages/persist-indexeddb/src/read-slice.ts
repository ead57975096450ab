import { SessionError, type StoredUpdate } from "@coppice/core";
import type { Connection } from "./connection.ts";
import { updatesTable } from "./layout.ts";

/** How much of a log a reader holds in memory at a time; one update may be larger. */
const sliceBytes = 1024 * 1024;

/** Updates behind `after`, in order, up to a size; the first one at or behind `end` is the last. */
export function readSlice(connection: Connection, after: number, end: number): Promise<StoredUpdate[]> {
  const scope = { tables: [updatesTable], mode: "readonly" } as const;
  return connection.transact(scope, (transaction) => {
    const request = transaction.objectStore(updatesTable).openCursor(IDBKeyRange.lowerBound(after, true));
    const slice: StoredUpdate[] = [];
    let bytes = 0;
    return new Promise((resolve, reject) => {
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const cursor = request.result;
        if (cursor === null) return resolve(slice);
        try {
          const stored = { seq: Number(cursor.key), update: toOwnBytes(cursor.value, connection.name) };
          slice.push(stored);
          bytes += stored.update.length;
          if (stored.seq >= end || bytes >= sliceBytes) resolve(slice);
          else cursor.continue();
        } catch (error) {
          reject(error);
        }
      };
    });
  });
}

/** Stored bytes as a plain `Uint8Array` that keeps nothing else in memory. Throws `storage` when they are no bytes. */
export function toOwnBytes(stored: unknown, database: string): Uint8Array {
  if (!(stored instanceof Uint8Array))
    throw new SessionError("storage", `The database ${database} holds something that is no update.`);
  return stored.byteLength === stored.buffer.byteLength && stored.constructor === Uint8Array
    ? stored
    : new Uint8Array(stored);
}
