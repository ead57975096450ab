import { createVanishedError, describeError } from "./storage-errors.ts";
import { complete } from "./transaction.ts";

/** What a connection is made of. */
export interface ConnectionOptions {
  /** Of the database, for messages. */
  readonly name: string;
  /** Opens the same database again; undefined when it is gone. */
  readonly reopen: () => Promise<IDBDatabase | undefined>;
}

/** What a transaction touches, and how. */
export interface TransactionScope {
  readonly tables: readonly string[];
  readonly mode: IDBTransactionMode;
  /** `strict`: complete means on the disk. Default: what the browser does by itself. */
  readonly durability?: IDBTransactionDurability;
}

/**
 * An open database that opens itself again: browsers close databases (when the site's data is cleared, when a file is
 * damaged, when another tab wants to delete it), and a call that comes afterwards starts on a new connection. A database
 * that is gone by then is lost for good: every later call is refused, rather than begun on an empty one.
 */
export class Connection {
  readonly name: string;
  readonly #reopen: () => Promise<IDBDatabase | undefined>;
  #database: IDBDatabase | undefined;
  #reopening: Promise<IDBDatabase | undefined> | undefined;
  #isClosed = false;
  #isLost = false;

  constructor(database: IDBDatabase, options: ConnectionOptions) {
    this.name = options.name;
    this.#reopen = options.reopen;
    this.#take(database);
  }

  /**
   * Runs a transaction; it is begun in this very turn while the database is open, so that calls keep their order.
   * Settles when it has completed. Rejects with a `SessionError`.
   */
  async transact<Value>(
    scope: TransactionScope,
    work: (transaction: IDBTransaction) => Promise<Value>,
  ): Promise<Value> {
    try {
      for (let tries = 1; ; tries++) {
        const database = this.#database ?? (await this.#open());
        const transaction = this.#begin(database, scope, tries);
        if (transaction !== undefined) return await complete(transaction, work);
      }
    } catch (error) {
      throw describeError(this.name, scope.mode === "readonly" ? "read" : "written", error);
    }
  }

  /** Whether the database is still there; opens it again if need be. Rejects when that cannot be found out. */
  async isAlive(): Promise<boolean> {
    try {
      if (this.#database === undefined) await this.#open();
      return true;
    } catch (error) {
      if (this.#isLost) return false;
      throw describeError(this.name, "opened", error);
    }
  }

  /** Transactions under way still end. Safe to call twice. */
  close(): void {
    this.#isClosed = true;
    this.#database?.close();
    this.#database = undefined;
  }

  /** Undefined: this connection was being closed, and the next one may do. */
  #begin(database: IDBDatabase, scope: TransactionScope, tries: number): IDBTransaction | undefined {
    try {
      const { tables, mode, durability = "default" } = scope;
      return database.transaction([...tables], mode, { durability });
    } catch (error) {
      if ((error as Error).name !== "InvalidStateError" || tries > 1) throw error;
      this.#drop(database);
      return undefined;
    }
  }

  async #open(): Promise<IDBDatabase> {
    if (this.#isLost) throw createVanishedError(this.name);
    this.#reopening ??= this.#reopen().finally(() => {
      this.#reopening = undefined;
    });
    const database = await this.#reopening;
    if (database === undefined) {
      this.#isLost = true;
      throw createVanishedError(this.name);
    }
    // Several may have waited for it.
    if (this.#database === undefined) this.#take(database);
    return database;
  }

  #take(database: IDBDatabase): void {
    this.#database = database;
    database.onclose = () => this.#drop(database);
    // Somebody wants to delete it: whoever does not make way holds up every tab.
    database.onversionchange = () => this.#drop(database);
    if (this.#isClosed) this.close();
  }

  #drop(database: IDBDatabase): void {
    database.close();
    if (this.#database === database) this.#database = undefined;
  }
}
