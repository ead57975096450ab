import { SessionError } from "@coppice/core";
import { DataFile } from "./data-file.ts";
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
  #dataFile: DataFile | undefined;
  #releasing: Promise<void> | undefined;
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
    // lmdb gives whoever opens a folder while it is being closed the environment that closes, with its failure.
    await this.#releasing;
    try {
      // Once it was there, it must be there again: an empty store in its place (a disk that was unmounted) would look
      // like one from which everything was deleted.
      await (this.#wasOpen ? checkFolder(this.folder) : prepareFolder(this.folder));
      const tables = await LmdbTables.open(this.folder);
      try {
        if (!this.#wasOpen) await syncFolder(this.folder);
        this.#dataFile = await DataFile.open(this.folder);
      } catch (error) {
        await tables.close();
        throw error;
      }
      this.#wasOpen = true;
      this.#tables = tables;
      return tables;
    } catch (error) {
      throw describeOpenError(this.folder, error);
    }
  }

  /** Whether the open tables are those of the file in the folder; true while none are open. */
  get isInPlace(): boolean {
    return this.#dataFile?.isInPlace ?? true;
  }

  /** Throws `storage` when the files of the open tables are no longer in the folder, or others are. */
  assertInPlace(): void {
    this.#dataFile?.assertInPlace();
  }

  /** Makes sure that a commit of up to this many bytes can be written. Rejects with `storage_full`, `storage` or the system's error. */
  async prepareCommit(bytes: number): Promise<void> {
    this.assertInPlace();
    await this.#dataFile?.reserve(bytes);
  }

  /** Closes the tables; the next `acquire` waits for that and opens them anew. Nothing may be in flight. */
  async release(): Promise<void> {
    const tables = this.#tables;
    const dataFile = this.#dataFile;
    this.#tables = undefined;
    this.#dataFile = undefined;
    const releasing = Promise.all([this.#releasing, tables?.close(), dataFile?.close()]).then(() => undefined);
    this.#releasing = releasing.catch(() => undefined); // told to who released; opening finds out by itself
    await releasing;
  }

  /** Closes for good. Nothing may be in flight. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opening?.catch(() => undefined); // whoever asked for it was told
    await this.release();
  }
}
