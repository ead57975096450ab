import { fstatSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { SessionError } from "@coppice/core";
import { Environment } from "./environment.ts";
import { assertFreeSpace } from "./free-space.ts";
import { dataFileName, lockFileName, syncFolder } from "./store-folder.ts";
import { syncFile } from "./sync-file.ts";

/** A file with less than this free is left as it is: what was freed is used again. */
const maxFreeShare = 0.2;

/** Below this there is little to win, and a store needs some room to write in. */
const minFreeBytes = 1024 * 1024;

/** Where the new file is written; what an interrupted run left there is removed by the next. */
const draftName = "compacting";

/**
 * Writes the data file of a store anew without its free pages, when they are more than a fifth of it and more than
 * 1 MiB. Returns whether it did. LMDB's file never shrinks otherwise.
 *
 * Only a store that nobody has open is touched, as far as LMDB's list of readers and the open files of this process
 * tell; nobody else may begin to open it meanwhile. The copy is on disk before it takes the place of the file, by one
 * rename under LMDB's writer lock, and only when nothing was committed since it was begun: whenever the process ends,
 * the old file is there or the new one, and both hold everything. Without the space for a copy nothing is done.
 */
export async function compactDataFile(folder: string): Promise<boolean> {
  const path = join(folder, dataFileName);
  const draft = join(folder, draftName);
  await rm(draft, { recursive: true, force: true });
  if ((await sizeOf(path)) < minFreeBytes || !isClosedInThisProcess(path)) return false;
  const environment = new Environment(folder);
  try {
    const tables = await environment.acquire();
    if (tables.isReadByOthers()) return false;
    const usedBytes = tables.countUsedBytes();
    const fileBytes = await sizeOf(path);
    if (fileBytes - usedBytes < Math.max(minFreeBytes, fileBytes * maxFreeShare)) return false;
    await assertFreeSpace(folder, usedBytes);
    const revision = tables.readRevision();
    await mkdir(draft, { mode: 0o700 });
    await tables.copyTo(draft);
    await syncFile(join(draft, dataFileName));
    const isReplaced = tables.runLocked(() => {
      if (tables.readRevision() !== revision || tables.isReadByOthers()) return false;
      renameSync(join(draft, dataFileName), path);
      // It holds the number of the old file's last transaction, which the new one has not reached.
      rmSync(join(folder, lockFileName));
      return true;
    });
    await syncFolder(folder);
    return isReplaced;
  } catch (error) {
    if (error instanceof SessionError && error.code === "storage_full") return false;
    throw error;
  } finally {
    await environment.close();
    await rm(draft, { recursive: true, force: true });
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return 0;
    throw error;
  }
}

/**
 * Whether no other store of this process has the file open: lmdb would give the next one that opens the folder the
 * environment of the old file. Where a process cannot list its open files (Windows), the answer is no.
 */
function isClosedInThisProcess(path: string): boolean {
  const { dev, ino } = statSync(path, { bigint: true });
  let names: string[];
  try {
    names = readdirSync("/dev/fd");
  } catch {
    return false;
  }
  return names.every((name) => {
    try {
      const open = fstatSync(Number(name), { bigint: true });
      return open.dev !== dev || open.ino !== ino;
    } catch {
      // The one the list itself was read with, closed by now.
      return true;
    }
  });
}
