import { createUuidV7 } from "@coppice/core";
import { Connection } from "./connection.ts";
import {
  createLogTables,
  customTable,
  type DatabaseMark,
  logDatabaseName,
  markKey,
  positionsPerMaking,
  updatesTable,
} from "./layout.ts";
import { openMarked, reopenMarked } from "./marked-database.ts";
import { type OpenDatabaseOptions, openDatabase } from "./open-database.ts";
import type { Registry } from "./registry.ts";
import { SharedLog } from "./shared-log.ts";
import { describeError } from "./storage-errors.ts";
import { complete, readLastKey, settled } from "./transaction.ts";

const markPlace = { table: customTable, key: markKey };

/** The logs of a store that are open, each with one connection however many handles it has. */
export class StoreLogs {
  readonly #store: string;
  readonly #registry: Registry;
  readonly #place: Pick<OpenDatabaseOptions, "factory" | "timeoutMs">;
  readonly #opened = new Map<string, SharedLog>();
  readonly #opening = new Map<string, Promise<SharedLog | undefined>>();

  constructor(store: string, registry: Registry, place: Pick<OpenDatabaseOptions, "factory" | "timeoutMs">) {
    this.#store = store;
    this.#registry = registry;
    this.#place = place;
  }

  /** The log with one handle more. */
  async acquire(name: string): Promise<SharedLog> {
    const log = await this.#share(name, true);
    return log as SharedLog;
  }

  /** The log with one handle more; undefined when there is none of that name. */
  acquireExisting(name: string): Promise<SharedLog | undefined> {
    return this.#share(name, false);
  }

  /** Takes back what `acquire` counted. */
  release(log: SharedLog, handle: object): void {
    log.closeHandle(handle);
    if (log.isOpen) return;
    log.connection.close();
    this.#forget(log);
  }

  /** The log, if it is open. */
  find(name: string): SharedLog | undefined {
    return this.#opened.get(name);
  }

  /** The open logs. */
  all(): SharedLog[] {
    return [...this.#opened.values()];
  }

  async #share(name: string, isMade: boolean): Promise<SharedLog | undefined> {
    for (;;) {
      const opened = this.#opened.get(name);
      if (opened !== undefined) {
        if (await this.#take(opened)) return opened;
      } else if ((await (this.#opening.get(name) ?? this.#begin(name, isMade))) === undefined && !isMade) {
        return undefined;
      }
    }
  }

  /** One handle more of a log that is open; false: its database has gone, and whoever has it open keeps that error. */
  async #take(log: SharedLog): Promise<boolean> {
    log.openHandle();
    let isAlive = false;
    try {
      isAlive = await log.connection.isAlive();
    } finally {
      if (!isAlive) this.release(log, log);
    }
    if (!isAlive) this.#forget(log);
    return isAlive;
  }

  #begin(name: string, isMade: boolean): Promise<SharedLog | undefined> {
    const opening = this.#open(name, isMade)
      .then((log) => {
        if (log !== undefined) this.#opened.set(name, log);
        return log;
      })
      .finally(() => this.#opening.delete(name));
    this.#opening.set(name, opening);
    return opening;
  }

  #forget(log: SharedLog): void {
    if (this.#opened.get(log.name) === log) this.#opened.delete(log.name);
  }

  async #open(name: string, isMade: boolean): Promise<SharedLog | undefined> {
    const options = { ...this.#place, name: logDatabaseName(this.#store, name) };
    try {
      const makings = await this.#registry.countMakings(name);
      const create = (database: IDBDatabase): void =>
        createLogTables(database, { making: makings, id: createUuidV7() });
      const database = await openDatabase({ ...options, create: isMade ? create : undefined });
      if (database === undefined) return undefined;
      const mark = await openMarked(database, markPlace, {
        tables: [updatesTable, customTable],
        adopt: (transaction) => adoptDatabase(transaction, makings),
      });
      if (mark.making >= makings) await this.#registry.noteMakings(name, mark.making + 1);
      const lastSeq = await complete(database.transaction([updatesTable], "readonly"), (transaction) =>
        readLastKey(transaction.objectStore(updatesTable)),
      );
      const reopen = (): Promise<IDBDatabase | undefined> => reopenMarked(options, markPlace, mark.id);
      return new SharedLog(name, new Connection(database, { name: options.name, reopen }), lastSeq);
    } catch (error) {
      throw describeError(options.name, "opened", error);
    }
  }
}

/** A database that y-indexeddb made. Should it be in the place of an older one, positions go on behind that. */
async function adoptDatabase(transaction: IDBTransaction, makings: number): Promise<DatabaseMark> {
  const updates = transaction.objectStore(updatesTable);
  const floor = makings * positionsPerMaking;
  if ((await readLastKey(updates)) < floor) {
    await settled(updates.put(new Uint8Array(0), floor));
    await settled(updates.delete(floor));
  }
  return { making: makings, id: createUuidV7() };
}
