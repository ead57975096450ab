import { statfs } from "node:fs/promises";
import { storageFull } from "./storage-errors.ts";

/** What a store leaves free on its disk: for what the file system writes beside the data, and for others being quick. */
const keptFreeBytes = 1024 * 1024;

/** Rejects with `storage_full` unless the folder's disk has this much space and some to spare. */
export async function assertFreeSpace(folder: string, bytes: number): Promise<void> {
  const { blocks, bavail, bsize } = await statfs(folder);
  // Some file systems do not tell: no blocks at all. There the write itself must find out.
  if (blocks > 0 && bavail * bsize < bytes + keptFreeBytes) throw storageFull(folder);
}
