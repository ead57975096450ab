import { SessionError } from "@coppice/core";

/** Settles with the result of a request. */
export function settled<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * Does the work in a transaction; settles with its result once the transaction has completed. Work that rejects undoes
 * it all. Rejects with what the work threw as a `SessionError`, else with what the transaction failed of.
 */
export function complete<Value>(
  transaction: IDBTransaction,
  work: (transaction: IDBTransaction) => Promise<Value>,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    let value: Value;
    let failure: unknown;
    let isOver = false;
    transaction.oncomplete = () => {
      isOver = true;
      if (failure === undefined) resolve(value);
      else reject(failure);
    };
    transaction.onabort = () => {
      isOver = true;
      // Requests that were under way say no more than that they were aborted; the transaction knows why.
      if (failure instanceof SessionError) reject(failure);
      else reject(transaction.error ?? failure ?? new Error("the browser has aborted the transaction"));
    };
    work(transaction).then(
      (result) => {
        value = result;
      },
      (error: unknown) => {
        failure = error ?? new Error("a request failed");
        // After a failed request it is aborting already, and a second abort throws.
        if (!isOver && failure instanceof SessionError) transaction.abort();
      },
    );
  });
}

/** Key of the last record; 0 when there is none. */
export async function readLastKey(table: IDBObjectStore): Promise<number> {
  const cursor = await settled(table.openKeyCursor(null, "prev"));
  return cursor === null ? 0 : Number(cursor.key);
}
