import { statfs } from "node:fs/promises";
import { storageFull } from "./storage-errors.ts";

/** What a store leaves free on its disk: for what the file system writes beside the data, and for others being quick. */
const keptFreeBytes = 1024 * 1024;

/** More than all writers together put on a disk in a millisecond; one in memory comes near it. */
const maxFilledBytesPerMs = 16 * 1024 * 1024;

/** How long an answer counts at most: a disk may also be made smaller. */
const maxAnswerAgeMs = 1_000;

/** What a disk said about its space. */
export interface SpaceAnswer {
  readonly freeBytes: number;
  /** When it was asked, ms. */
  readonly atMs: number;
}

/** Whether an answer still shows that there are this many bytes, however fast the disk has been filled since. */
export function showsSpace({ freeBytes, atMs }: SpaceAnswer, bytes: number, nowMs: number): boolean {
  const ageMs = nowMs - atMs;
  return ageMs < maxAnswerAgeMs && freeBytes - ageMs * maxFilledBytesPerMs >= bytes + keptFreeBytes;
}

/**
 * The free space of the disk below a folder. Asking goes to another thread and back, which is a sixth of what a small
 * commit costs, so a disk with much space is not asked each time.
 */
export class FreeSpace {
  readonly #folder: string;
  #answer: SpaceAnswer | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Rejects with `storage_full` unless the disk has this much space and some to spare. */
  async assert(bytes: number): Promise<void> {
    if (this.#answer !== undefined && showsSpace(this.#answer, bytes, performance.now())) return;
    // Before asking: what is written meanwhile may not be in the answer.
    const atMs = performance.now();
    const { blocks, bavail, bsize } = await statfs(this.#folder);
    this.#answer = { freeBytes: bavail * bsize, atMs };
    // Some file systems do not tell: no blocks at all. There the write itself must find out.
    if (blocks > 0 && bavail * bsize < bytes + keptFreeBytes) throw storageFull(this.#folder);
  }
}

/** Rejects with `storage_full` unless the folder's disk has this much space and some to spare. */
export function assertFreeSpace(folder: string, bytes: number): Promise<void> {
  return new FreeSpace(folder).assert(bytes);
}
