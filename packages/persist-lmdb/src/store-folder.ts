import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, link, open, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SessionError } from "@coppice/core";
import { assertFreeSpace } from "./free-space.ts";
import { makeFolder } from "./make-folder.ts";
import { readMetaPages } from "./meta-pages.ts";
import { storageGone } from "./storage-errors.ts";

/** Name of LMDB's data file in the folder. */
export const dataFileName = "data.mdb";
/** Name of LMDB's lock file beside it. */
export const lockFileName = "lock.mdb";

/** More than LMDB needs for the readers it is opened with (8,272 bytes); it takes what it finds. */
const lockFileBytes = 16 * 1024;

/** What lmdb writes while it makes a store, which it must not find missing on the way. */
const newStoreBytes = 256 * 1024;

/**
 * Makes the folder (mode 700) if it is missing and checks what LMDB needs, because lmdb's binding may end the process
 * (a segmentation fault, a bus error) instead of throwing when it cannot open an environment. Rejects with `storage`
 * or `version_mismatch` for a data file that cannot be opened, `storage_full` when there is no space to make one,
 * otherwise with the file system's own error.
 */
export async function prepareFolder(folder: string): Promise<void> {
  if (await makeFolder(folder)) await syncFolder(dirname(folder));
  await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  for (const name of [dataFileName, lockFileName]) {
    try {
      await access(join(folder, name), constants.R_OK | constants.W_OK);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  await checkDataFile(folder);
  await prepareLockFile(folder);
}

/** The same checks for a folder in which a store must already be. Rejects with `storage` when it is not. */
export async function checkFolder(folder: string): Promise<void> {
  try {
    await access(join(folder, dataFileName));
  } catch (cause) {
    throw storageGone(folder, cause);
  }
  await prepareFolder(folder);
}

/** Makes a new name in a folder durable. Windows cannot sync folders and needs no such step. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * LMDB makes its lock file without any blocks and writes through a memory map, so a disk without space ends the
 * process (SIGBUS) instead of failing the call. Made here it has its blocks. It gets its name only when it is complete:
 * another process may be about to use it.
 *
 * An existing one is never opened here: closing it would drop the locks this process may hold on it (POSIX).
 */
async function prepareLockFile(folder: string): Promise<void> {
  const path = join(folder, lockFileName);
  try {
    // LMDB made it, and was ended before it wrote to it.
    if ((await stat(path)).blocks === 0) await assertFreeSpace(folder, lockFileBytes);
    return;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const draftPath = `${path}.${process.pid}-${randomUUID()}`;
  try {
    await writeFile(draftPath, new Uint8Array(lockFileBytes), { mode: 0o600, flag: "wx" });
    await link(draftPath, path);
  } catch (error) {
    // Another process was quicker; or the file system has no links, and LMDB makes the file its own way.
    if (!hasCode(error, "EEXIST", "EPERM", "ENOTSUP", "ENOSYS")) throw error;
    await assertFreeSpace(folder, lockFileBytes);
  } finally {
    await rm(draftPath, { force: true });
  }
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.some((code) => code === error.code);
}

function isMissing(error: unknown): boolean {
  return hasCode(error, "ENOENT");
}

/**
 * Refuses a data file that LMDB would crash on: a foreign or damaged header, or one cut off before the root of a tree.
 * A missing or empty file is a new environment. (A cut behind the roots is not found here.)
 */
async function checkDataFile(folder: string): Promise<void> {
  const path = join(folder, dataFileName);
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(path, "r");
  } catch (error) {
    if (isMissing(error)) return assertFreeSpace(folder, newStoreBytes);
    throw error;
  }
  try {
    const { size } = await handle.stat();
    if (size === 0) return await assertFreeSpace(folder, newStoreBytes);
    const meta = readMetaPages(handle.fd);
    if (!meta.hasMagic) throw damaged(path);
    if (!meta.isKnownVersion)
      throw new SessionError(
        "version_mismatch",
        `${path} was written by another version of LMDB. Open it with the Coppice that wrote it.`,
      );
    const pages = BigInt(Math.floor(size / meta.pageBytes));
    if (meta.roots.some((root) => root >= pages)) throw damaged(path);
  } finally {
    await handle.close();
  }
}

function damaged(path: string): SessionError {
  return new SessionError(
    "storage",
    `${path} is damaged or no LMDB file. Restore it from a copy, or move it away to start an empty store.`,
  );
}
