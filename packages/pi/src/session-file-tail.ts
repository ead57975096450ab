import { type FileHandle, open } from "node:fs/promises";
import { readSessionFile, type SessionFile, type SessionFileEntry } from "@coppice/storage-jsonl";

/** One entry of the file: its id, and its exact text. */
export interface TailEntry {
  readonly id: string;
  readonly json: string;
}

const chunkBytes = 256 * 1024;
/** Bytes before the place reading goes on at that must be what they were; else the file was written anew. */
const fingerprintBytes = 64;

/**
 * Reads a session file as it grows. Each `readNew` gives the entries of the lines that were completed since the one
 * before; a last line without its break waits until it is whole. A file that was replaced, cut or written anew is read
 * again from the start, so an entry may come more than once: go by ids. What cannot be an entry is passed over.
 */
export class SessionFileTail {
  readonly #path: string;
  #reading: Reading | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** The header's exact text, once `readNew` has given anything. */
  get headerJson(): string | undefined {
    return this.#reading?.file?.headerJson;
  }

  /** Lets the next `readNew` begin at the start of the file. */
  rewind(): void {
    this.#reading = undefined;
  }

  /**
   * The entries that are new. Nothing for a file that is not there, or that has no whole header line yet; rejects as
   * `readSessionFile` and the file system do.
   */
  async *readNew(): AsyncGenerator<TailEntry, void, void> {
    const handle = await openIfThere(this.#path);
    if (handle === undefined) {
      this.#reading = undefined;
      return;
    }
    try {
      if (this.#reading === undefined || !(await this.#reading.goesOnIn(handle))) {
        // The old one waits for bytes that will not come; nothing holds it.
        this.#reading = new Reading();
      }
      yield* this.#reading.readFrom(handle);
    } catch (error) {
      this.#reading = undefined;
      throw error;
    } finally {
      await handle.close();
    }
  }
}

/** One pass over one file, with a pause at its end each time. */
class Reading {
  file: SessionFile | undefined;
  #opening: Promise<SessionFile> | undefined;
  #next: Promise<IteratorResult<SessionFileEntry>> | undefined;
  #inode: bigint | undefined;
  #offset = 0;
  #lastBytes: Buffer = Buffer.alloc(0);
  #handle: FileHandle | undefined;
  /** Called when everything there is has been taken. */
  #onEnd: () => void = () => undefined;
  #onMore: () => void = () => undefined;

  /** Whether the file is the one that was read so far, with nothing but more behind it. */
  async goesOnIn(handle: FileHandle): Promise<boolean> {
    const { ino, size } = await handle.stat({ bigint: true });
    if (ino !== this.#inode || size < this.#offset) return false;
    const { length } = this.#lastBytes;
    const bytes = Buffer.alloc(length);
    await handle.read(bytes, 0, length, this.#offset - length);
    return bytes.equals(this.#lastBytes);
  }

  async *readFrom(handle: FileHandle): AsyncGenerator<TailEntry, void, void> {
    this.#handle = handle;
    this.#inode ??= (await handle.stat({ bigint: true })).ino;
    const end = new Promise<"end">((resolve) => {
      this.#onEnd = () => resolve("end");
    });
    this.#onMore();
    if (this.file === undefined) {
      // Of a file whose first line is not whole yet nothing can be said; whoever wrote it is about to go on.
      this.#opening ??= readSessionFile(this.#readBytes());
      this.#opening.catch(() => undefined);
      const opened = await Promise.race([this.#opening, end]);
      if (opened === "end") return;
      this.file = opened;
    }
    const entries = this.file[Symbol.asyncIterator]();
    for (;;) {
      this.#next ??= entries.next();
      this.#next.catch(() => undefined);
      const step = await Promise.race([this.#next, end]);
      if (step === "end") return;
      this.#next = undefined;
      if (step.done) return;
      yield { id: step.value.entry.id, json: step.value.json };
    }
  }

  /** Never ends: at the end of the file it waits for the next call of `readFrom`. Read by position, into memory of its own. */
  async *#readBytes(): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const buffer = Buffer.allocUnsafe(chunkBytes);
      const { bytesRead } = (await this.#handle?.read(buffer, 0, chunkBytes, this.#offset)) ?? { bytesRead: 0 };
      if (bytesRead === 0) {
        const more = new Promise<void>((resolve) => {
          this.#onMore = resolve;
        });
        this.#onEnd();
        await more;
        continue;
      }
      const chunk = buffer.subarray(0, bytesRead);
      this.#offset += bytesRead;
      this.#lastBytes = Buffer.concat([this.#lastBytes, chunk.subarray(-fingerprintBytes)]).subarray(-fingerprintBytes);
      yield chunk;
    }
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path);
  } catch (error) {
    if (error instanceof Error && (error as { code?: unknown }).code === "ENOENT") return undefined;
    throw error;
  }
}
