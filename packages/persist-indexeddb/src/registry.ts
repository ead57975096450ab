import { createUuidV7, SessionError } from "@coppice/core";
import { CommitQueue } from "./commit-queue.ts";
import { Connection } from "./connection.ts";
import {
  aboutTable,
  createRegistryTables,
  logsTable,
  markKey,
  registryName,
  registryVersion,
  valuesTable,
} from "./layout.ts";
import { openMarked, reopenMarked } from "./marked-database.ts";
import { type OpenDatabaseOptions, openDatabase } from "./open-database.ts";
import { toOwnBytes } from "./read-slice.ts";
import { settled } from "./transaction.ts";

/** The database of a store that has what belongs to no log: its values, and which logs there are. */
export class Registry {
  readonly #connection: Connection;
  readonly #queue: CommitQueue;

  private constructor(connection: Connection) {
    this.#connection = connection;
    // Values are independent of each other.
    this.#queue = new CommitQueue(connection, { keepsOrder: false });
  }

  /** Opens the registry of a store, making it when it does not exist. */
  static async open(store: string, place: Pick<OpenDatabaseOptions, "factory" | "timeoutMs">): Promise<Registry> {
    const name = registryName(store);
    const options = { ...place, name, version: registryVersion };
    const at = { table: aboutTable, key: markKey };
    const create = (database: IDBDatabase): void => createRegistryTables(database, createUuidV7());
    const database = await openDatabase({ ...options, create });
    if (database === undefined) throw new SessionError("storage", `The database ${name} cannot be made.`);
    const mark = await openMarked(database, at, undefined);
    return new Registry(new Connection(database, { name, reopen: () => reopenMarked(options, at, mark.id) }));
  }

  async readValue(key: string): Promise<Uint8Array | undefined> {
    const stored: unknown = await this.#read(valuesTable, (table) => settled(table.get(key)));
    return stored === undefined ? undefined : toOwnBytes(stored, this.#connection.name);
  }

  /** Settles when it is durable. */
  async writeValue(key: string, value: Uint8Array | undefined): Promise<void> {
    await this.#queue.enqueue({
      tables: [valuesTable],
      bytes: value?.length ?? 0,
      stage: async (transaction) => {
        const values = transaction.objectStore(valuesTable);
        if (value === undefined) await settled(values.delete(key));
        else await settled(values.put(value, key));
      },
    });
  }

  /** Names of the logs that a database was made for, whether it still exists or not. */
  async listLogs(): Promise<string[]> {
    return (await this.#read(logsTable, (table) => settled(table.getAllKeys()))).map(String);
  }

  /** How many databases have been made for a log. */
  async countMakings(log: string): Promise<number> {
    return Number((await this.#read(logsTable, (table) => settled(table.get(log)))) ?? 0);
  }

  /** So many databases, at least, have been made for a log. Settles when it is durable. */
  async noteMakings(log: string, makings: number): Promise<void> {
    await this.#queue.enqueue({
      tables: [logsTable],
      bytes: 0,
      isAlone: true,
      stage: async (transaction) => {
        const logs = transaction.objectStore(logsTable);
        const known = Number((await settled(logs.get(log))) ?? 0);
        if (known < makings) await settled(logs.put(makings, log));
      },
    });
  }

  /** Waits for what is being written. */
  async close(): Promise<void> {
    await this.#queue.idle();
    this.#connection.close();
  }

  #read<Value>(name: string, read: (table: IDBObjectStore) => Promise<Value>): Promise<Value> {
    const scope = { tables: [name], mode: "readonly" } as const;
    return this.#connection.transact(scope, (transaction) => read(transaction.objectStore(name)));
  }
}
