/** A file that only grows, written by this process and perhaps by others: checked appends, made durable in groups. */
import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  type Stats,
  statSync,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";
import { SessionError } from "@coppice/core";
import { toFileError } from "./file-errors.ts";

const syncData = promisify(fdatasync);

/** Which file a path led to. */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

/**
 * Appends to a file that exists. Writing is synchronous, so that appends reach the file in the order of the calls and
 * nobody sees a state between memory and file; waiting for the disk is not.
 */
export class AppendFile {
  readonly #path: string;
  readonly #identity: FileIdentity;
  #descriptor: number | undefined;
  #runningSync: Promise<void> = Promise.resolve();
  #nextSync: Promise<void> | undefined;

  /** The file is opened for writing at the first append only, so that a read-only file can be looked at. */
  constructor(path: string, identity: FileIdentity) {
    this.#path = path;
    this.#identity = identity;
  }

  /**
   * The file's size in bytes. Throws `storage` when the path leads to another file by now, or to none: what is
   * appended there would be lost.
   */
  size(): number {
    const stats = this.#use(() => statSync(this.#path));
    if (isSameFile(stats, this.#identity)) return stats.size;
    throw new SessionError(
      "storage",
      `${this.#path} was replaced by another file since it was opened; open the session again.`,
    );
  }

  /** Adds text at the end. Throws `storage` or `storage_full`; then no byte of it stays, unless others wrote meanwhile. */
  append(text: string): void {
    const descriptor = this.#open();
    const bytes = Buffer.from(text);
    const sizeBefore = this.#use(() => fstatSync(descriptor).size);
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(descriptor, bytes, written);
    } catch (error) {
      // A full disk may have taken a part. It goes, but never with anything another process has put behind it.
      if (written > 0 && fstatSync(descriptor).size === sizeBefore + written) ftruncateSync(descriptor, sizeBefore);
      throw toFileError(error, this.#path);
    }
  }

  /** The bytes from `start` up to `end`. */
  read(start: number, end: number): Uint8Array {
    return this.#use(() => {
      const descriptor = openSync(this.#path, "r");
      try {
        const bytes = Buffer.allocUnsafe(end - start);
        let filled = 0;
        while (filled < bytes.length) {
          const count = readSync(descriptor, bytes, filled, bytes.length - filled, start + filled);
          if (count === 0) break;
          filled += count;
        }
        return bytes.subarray(0, filled);
      } finally {
        closeSync(descriptor);
      }
    });
  }

  /** Settles when everything appended so far is on the disk; calls made meanwhile share the next wait. */
  sync(): Promise<void> {
    this.#nextSync ??= this.#runningSync
      .catch(() => undefined) // Told to those who waited for it.
      .then(() => {
        this.#nextSync = undefined;
        this.#runningSync = this.#syncNow();
        return this.#runningSync;
      });
    return this.#nextSync;
  }

  /** Releases the file. Call it when no `sync` is waited for any more. */
  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  async #syncNow(): Promise<void> {
    if (this.#descriptor === undefined) return;
    await syncData(this.#descriptor).catch((error: unknown) => {
      throw toFileError(error, this.#path);
    });
  }

  #open(): number {
    // Without O_CREAT: a session file that is gone must not come back as one without a header.
    this.#descriptor ??= this.#use(() => openSync(this.#path, constants.O_WRONLY | constants.O_APPEND));
    return this.#descriptor;
  }

  #use<Value>(operation: () => Value): Value {
    try {
      return operation();
    } catch (error) {
      throw toFileError(error, this.#path);
    }
  }
}

function isSameFile(stats: Stats, identity: FileIdentity): boolean {
  return stats.dev === identity.dev && stats.ino === identity.ino;
}
