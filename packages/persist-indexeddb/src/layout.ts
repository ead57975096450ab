/**
 * Where things stand in IndexedDB (SPEC IX1, IX2). A log is a database of its own, laid out as y-indexeddb 9 has it, so
 * that each opens the other's. What belongs to no log stands in one more database, the registry.
 */

/** y-indexeddb's: updates by a key that the database counts, which is the position. */
export const updatesTable = "updates";

/** y-indexeddb's place for whatever an app keeps beside the updates, by name. */
export const customTable = "custom";

/** In `customTable`, and in the registry's `aboutTable`: which making of the database this is. */
export const markKey = "coppice";

/** In `customTable`, before the name of derived data. */
export const derivedPrefix = "coppice/derived/";

/** In the registry: the values of the store, by key. */
export const valuesTable = "values";

/** In the registry: its mark, by `markKey`. */
export const aboutTable = "about";

/** In the registry: how often a database was made for a log, by the log's name. */
export const logsTable = "logs";

/** Layout of the registry, which is the version of its database. */
export const registryVersion = 1;

const markVersion = 1;

/**
 * Room for the positions of one database. A database that is made for a log that had one before (somebody else deleted
 * it) counts from the next multiple on, so that no position is given twice.
 */
export const positionsPerMaking: number = 2 ** 32;

/** Name of the registry's database. */
export function registryName(store: string): string {
  return store;
}

/** Name of the database of a log. */
export function logDatabaseName(store: string, log: string): string {
  return `${store}/${log}`;
}

/** What tells one database from another of the same name. */
export interface DatabaseMark {
  /** Of a log: how many databases were made for it before this one. */
  readonly making: number;
  /** Random. */
  readonly id: string;
}

/** The mark as it is stored: a plain object. */
export function encodeMark({ making, id }: DatabaseMark): object {
  return { version: markVersion, making, id };
}

/** The mark of a database; undefined: a newer version wrote it. */
export function decodeMark(stored: unknown): DatabaseMark | undefined {
  if (typeof stored !== "object" || stored === null) return undefined;
  const { version, making, id } = stored as { [field: string]: unknown };
  if (version !== markVersion || typeof id !== "string") return undefined;
  return typeof making === "number" && Number.isSafeInteger(making) && making >= 0 ? { making, id } : undefined;
}

/** Makes the tables of a log in a new database, as y-indexeddb does, and the mark. */
export function createLogTables(database: IDBDatabase, mark: DatabaseMark): void {
  const updates = database.createObjectStore(updatesTable, { autoIncrement: true });
  database.createObjectStore(customTable).put(encodeMark(mark), markKey);
  if (mark.making === 0) return;
  // A key that is given makes the database count on from there, also when what stood there is gone.
  const floor = mark.making * positionsPerMaking;
  updates.put(new Uint8Array(0), floor);
  updates.delete(floor);
}

/** Makes the tables of the registry in a new database, and the mark. */
export function createRegistryTables(database: IDBDatabase, id: string): void {
  database.createObjectStore(aboutTable).put(encodeMark({ making: 0, id }), markKey);
  database.createObjectStore(valuesTable);
  database.createObjectStore(logsTable);
}
