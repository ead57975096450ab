import { createNewerVersionError } from "@coppice/core";
import { type DatabaseMark, decodeMark, encodeMark } from "./layout.ts";
import { type OpenDatabaseOptions, openDatabase } from "./open-database.ts";
import { complete, settled } from "./transaction.ts";

/** Where the mark of a database stands. */
export interface MarkPlace {
  readonly table: string;
  readonly key: string;
}

/** Writes in a database that has no mark yet what makes it ours; settles with the mark it gave. */
export type Adoption = (transaction: IDBTransaction) => Promise<DatabaseMark>;

/**
 * Reads the mark of a database that was just opened; one that has none, because other software made it, is adopted.
 * Closes the database and rejects with `version_mismatch` when a newer version made it, or with what went wrong.
 */
export async function openMarked(
  database: IDBDatabase,
  place: MarkPlace,
  adoption: { readonly tables: readonly string[]; readonly adopt: Adoption } | undefined,
): Promise<DatabaseMark> {
  try {
    const stored = await readMark(database, place);
    if (stored === undefined && adoption !== undefined)
      return await complete(database.transaction([...adoption.tables], "readwrite", { durability: "strict" }), adopt);
    return requireMark(database.name, stored);
  } catch (error) {
    database.close();
    throw error;
  }

  async function adopt(transaction: IDBTransaction): Promise<DatabaseMark> {
    // Another tab may have been first.
    const stored: unknown = await settled(transaction.objectStore(place.table).get(place.key));
    if (stored !== undefined) return requireMark(database.name, stored);
    const mark = await (adoption as { adopt: Adoption }).adopt(transaction);
    await settled(transaction.objectStore(place.table).put(encodeMark(mark), place.key));
    return mark;
  }
}

/**
 * Opens a database again that was open before. Settles with undefined when it has gone, or another one stands in its
 * place: what was known of it does not hold for that one.
 */
export async function reopenMarked(
  options: Omit<OpenDatabaseOptions, "create">,
  place: MarkPlace,
  id: string,
): Promise<IDBDatabase | undefined> {
  const database = await openDatabase({ ...options, create: undefined });
  if (database === undefined) return undefined;
  try {
    if (decodeMark(await readMark(database, place))?.id === id) return database;
    database.close();
    return undefined;
  } catch (error) {
    database.close();
    throw error;
  }
}

function readMark(database: IDBDatabase, { table, key }: MarkPlace): Promise<unknown> {
  return complete<unknown>(database.transaction([table], "readonly"), (transaction) =>
    settled(transaction.objectStore(table).get(key)),
  );
}

function requireMark(name: string, stored: unknown): DatabaseMark {
  const mark = decodeMark(stored);
  if (mark === undefined) throw createNewerVersionError(`The database ${name}`);
  return mark;
}
