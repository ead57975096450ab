import { type BigIntStats, fstatSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { SessionError } from "@coppice/core";
import { FreeSpace } from "./free-space.ts";
import { readMetaPages } from "./meta-pages.ts";
import { storageGone } from "./storage-errors.ts";
import { dataFileName } from "./store-folder.ts";

/** How much more than needed is reserved, so that a small commit seldom has to. */
const reserveAheadBytes = 256 * 1024;

/** Zeros are written in pieces of this size. */
const pieceBytes = 256 * 1024;

/**
 * The data file of an open environment, held open beside lmdb to guard it from two things it does not survive: a write
 * that fails (lmdb 3.5 then puts its error text behind the end of a buffer, mdb.c `mdb_page_flush`, which ends the
 * process sooner or later), and a file that is no longer the one in the folder, into which it writes on as if it were.
 *
 * The calls it makes on the event loop's thread ask the kernel for what it has in memory (some microseconds).
 */
export class DataFile {
  readonly #folder: string;
  readonly #path: string;
  readonly #handle: FileHandle;
  /** Which file it is, for as long as it is open. */
  readonly #identity: Pick<BigIntStats, "ino" | "dev">;
  readonly #space: FreeSpace;

  private constructor(folder: string, path: string, handle: FileHandle) {
    this.#folder = folder;
    this.#path = path;
    this.#handle = handle;
    this.#identity = fstatSync(handle.fd, { bigint: true });
    this.#space = new FreeSpace(folder);
  }

  /** Takes hold of the file that lmdb has open. */
  static async open(folder: string): Promise<DataFile> {
    const path = join(folder, dataFileName);
    return new DataFile(folder, path, await open(path, "a+"));
  }

  /** Whether the file in the folder is still this one. */
  get isInPlace(): boolean {
    return this.#compareWithPath() === "same";
  }

  /** Throws `storage` when the file in the folder is gone or another one. */
  assertInPlace(): void {
    const found = this.#compareWithPath();
    if (found === "gone") throw storageGone(this.#folder);
    if (found === "other")
      throw new SessionError(
        "storage",
        `The store in ${this.#folder} was replaced while it was open. Try again to use the one that is there now.`,
      );
  }

  #compareWithPath(): "same" | "gone" | "other" {
    const there = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    if (there === undefined) return "gone";
    const { ino, dev } = this.#identity;
    return there.ino === ino && there.dev === dev ? "same" : "other";
  }

  /**
   * Makes sure that a commit of up to this many bytes finds its space, by writing zeros behind the pages in use.
   * Rejects with `storage_full` or the system's error when it would not; then lmdb must not be asked to write.
   *
   * The file is opened for appending: the system puts the zeros behind whatever is there at that moment, so they never
   * hit a page that another process's commit has just written. Such a commit may take what was reserved here.
   */
  async reserve(bytes: number): Promise<void> {
    const missing = this.#missingBytes(bytes);
    const growth = missing <= 0 ? 0 : missing + reserveAheadBytes;
    await this.#space.assert(growth);
    try {
      for (let left = growth; left > 0; left -= pieceBytes) {
        await this.#handle.appendFile(new Uint8Array(Math.min(left, pieceBytes)));
      }
    } catch (error) {
      // What was written before a limit or quota was met may still be enough.
      if (this.#missingBytes(bytes) > 0) throw error;
    }
  }

  #missingBytes(bytes: number): number {
    const { lastPage, pageBytes } = readMetaPages(this.#handle.fd);
    return (lastPage + 1) * pageBytes + bytes - fstatSync(this.#handle.fd).size;
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}
