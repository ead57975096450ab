import { SessionError } from "@coppice/core";

/** How a database is opened. */
export interface OpenDatabaseOptions {
  readonly factory: IDBFactory;
  readonly name: string;
  /** Left out: whatever version it has, and 1 for a new one, as y-indexeddb does. */
  readonly version?: number;
  /** Makes what is in a new database; undefined: it must exist. */
  readonly create: ((database: IDBDatabase) => void) | undefined;
  /** Longest wait, in ms. */
  readonly timeoutMs: number;
}

/**
 * Opens a database. Settles with undefined when it must exist and does not; nothing has been made then. Rejects with
 * what the browser says, or `storage` when it says nothing for too long: a delete that waits for another tab holds up
 * every open behind it, and some browsers have been seen not to answer at all.
 */
export function openDatabase(options: OpenDatabaseOptions): Promise<IDBDatabase | undefined> {
  const { factory, name, version, create, timeoutMs } = options;
  return new Promise((resolve, reject) => {
    let isMissing = false;
    let isTooLate = false;
    const request = factory.open(name, version);
    const timer = setTimeout(() => {
      isTooLate = true;
      const text = `The database ${name} does not open; close other tabs of this site, or start the browser again.`;
      reject(new SessionError("storage", text));
    }, timeoutMs);
    request.onupgradeneeded = (event) => {
      if (event.oldVersion > 0) return;
      isMissing = create === undefined;
      if (isTooLate || isMissing) request.transaction?.abort();
      else create?.(request.result);
    };
    request.onsuccess = () => {
      clearTimeout(timer);
      const database = request.result;
      // From the first moment on: a connection that does not make way for a deletion holds up every tab.
      database.onversionchange = () => database.close();
      if (isTooLate) database.close();
      else resolve(database);
    };
    request.onerror = (event) => {
      event.preventDefault(); // handled here; some browsers would report it once more as an uncaught error
      clearTimeout(timer);
      if (isMissing) resolve(undefined);
      else reject(request.error);
    };
  });
}

/**
 * Deletes a database; one that does not exist is fine. Tabs that have it open are asked to close it, and those of this
 * package do at once. Rejects with `storage` when one does not within the time; the deletion then goes on by itself.
 */
export function deleteDatabase(factory: IDBFactory, name: string, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = factory.deleteDatabase(name);
    const timer = setTimeout(() => {
      const text = `Another tab holds the database ${name}, which goes when all other tabs of this site are closed.`;
      reject(new SessionError("storage", text));
    }, timeoutMs);
    request.onsuccess = () => {
      clearTimeout(timer);
      resolve();
    };
    request.onerror = (event) => {
      event.preventDefault();
      clearTimeout(timer);
      reject(request.error);
    };
  });
}

/** The browser's IndexedDB. Throws `storage` where there is none. */
export function requireFactory(): IDBFactory {
  let factory: IDBFactory | undefined;
  try {
    factory = globalThis.indexedDB;
  } catch {
    // In some browsers the mere look throws where storage is blocked.
  }
  if (factory) return factory;
  throw new SessionError(
    "storage",
    "The browser offers no storage here: a private window, or a setting, keeps it away.",
  );
}
