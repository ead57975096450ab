import { SessionError } from "@coppice/core";
import { LmdbTables } from "./lmdb-tables.ts";
import { describeOpenError } from "./storage-errors.ts";
import { checkFolder, prepareFolder, syncFolder } from "./store-folder.ts";

/**
 * The LMDB environment of one folder over time. After a failed commit it is closed and opened anew, since LMDB refuses
 * everything after an error at its root page ("MDB_PANIC") until then: a disk that works again must be enough.
 */
export class Environment {
  readonly folder: string;
  #tables: LmdbTables | undefined;
  #opening: Promise<LmdbTables> | undefined;
  #wasOpen = false;
  #isClosed = false;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** The open tables; undefined while they are being opened, cannot be opened, or after `close`. */
  get tables(): LmdbTables | undefined {
    return this.#tables;
  }

  /** The open tables, opened first where necessary. Rejects with `closed`, `storage`, `storage_full`, `version_mismatch`. */
  acquire(): Promise<LmdbTables> {
    if (this.#isClosed)
      return Promise.reject(new SessionError("closed", `The store in ${this.folder} is closed; open it again.`));
    if (this.#tables !== undefined) return Promise.resolve(this.#tables);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<LmdbTables> {
    try {
      // Once it was there, it must be there again: an empty store in its place (a disk that was unmounted) would look
      // like one from which everything was deleted.
      await (this.#wasOpen ? checkFolder(this.folder) : prepareFolder(this.folder));
      this.#tables = await LmdbTables.open(this.folder);
      if (!this.#wasOpen) await syncFolder(this.folder);
      this.#wasOpen = true;
      return this.#tables;
    } catch (error) {
      throw describeOpenError(this.folder, error);
    }
  }

  /** Closes the tables; the next `acquire` opens them anew. Nothing may be in flight. */
  async release(): Promise<void> {
    const tables = this.#tables;
    this.#tables = undefined;
    await tables?.close();
  }

  /** Closes for good. Nothing may be in flight. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opening?.catch(() => undefined); // whoever asked for it was told
    await this.release();
  }
}
