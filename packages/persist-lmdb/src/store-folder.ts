import { constants } from "node:fs";
import { access, mkdir, open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SessionError } from "@coppice/core";

/** Name of LMDB's data file in the folder. */
export const dataFileName = "data.mdb";
const lockFileName = "lock.mdb";

/**
 * Makes the folder (mode 700) if it is missing and checks what LMDB needs, because lmdb's binding may end the process
 * (a segmentation fault, a bus error) instead of throwing when it cannot open an environment. Rejects with `storage`
 * or `version_mismatch` for a data file that cannot be opened, otherwise with the file system's own error.
 */
export async function prepareFolder(folder: string): Promise<void> {
  await makeFolder(folder);
  await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  for (const name of [dataFileName, lockFileName]) {
    try {
      await access(join(folder, name), constants.R_OK | constants.W_OK);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  await checkDataFile(join(folder, dataFileName));
}

/** The same checks for a folder in which a store must already be. Rejects with `storage` when it is not. */
export async function checkFolder(folder: string): Promise<void> {
  try {
    await access(join(folder, dataFileName));
  } catch (cause) {
    throw new SessionError("storage", `The store in ${folder} is gone. Bring its folder back and try again.`, {
      cause,
    });
  }
  await prepareFolder(folder);
}

async function makeFolder(folder: string): Promise<void> {
  // Only the parents are made recursively: Node's recursive mkdir never returns where the system refuses the last
  // step with ENOENT (as in /proc).
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    if ((await stat(folder)).isDirectory()) return;
    throw Object.assign(new Error(`${folder} is a file`), { code: "ENOTDIR" });
  }
  await syncFolder(dirname(folder));
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

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

// Layout of LMDB's meta pages, data version 2 (mdb.c, MDB_page_header, MDB_meta and MDB_db, 64 bit, native order).
const meta = {
  magic: 0xbeefc0de,
  dataVersion: 2,
  magicOffset: 24,
  versionOffset: 28,
  pageBytesOffset: 48,
  freeRootOffset: 88,
  mainRootOffset: 136,
  txnIdOffset: 152,
  bytes: 168,
  noRoot: 0xffffffffffffffffn,
} as const;

/**
 * Refuses a data file that LMDB would crash on: a foreign or damaged header, or one cut off before the root of a tree.
 * A missing or empty file is a new environment. (A cut behind the roots is not found here.)
 */
async function checkDataFile(path: string): Promise<void> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(path, "r");
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  try {
    const { size } = await handle.stat();
    if (size === 0) return;
    const readMeta = async (position: number): Promise<DataView> => {
      const page = new Uint8Array(meta.bytes);
      await handle.read(page, 0, page.length, position);
      return new DataView(page.buffer);
    };
    const first = await readMeta(0);
    const pageBytes = first.getUint32(meta.pageBytesOffset, true);
    const second = await readMeta(pageBytes);
    if ([first, second].some((page) => page.getUint32(meta.magicOffset, true) !== meta.magic)) throw damaged(path);
    // The upper half of the version field holds flags.
    if ((first.getUint32(meta.versionOffset, true) & 0xffff) !== meta.dataVersion)
      throw new SessionError(
        "version_mismatch",
        `${path} was written by another version of LMDB. Open it with the Coppice that wrote it.`,
      );
    const newest =
      first.getBigUint64(meta.txnIdOffset, true) > second.getBigUint64(meta.txnIdOffset, true) ? first : second;
    const pages = BigInt(Math.floor(size / pageBytes));
    for (const offset of [meta.freeRootOffset, meta.mainRootOffset]) {
      const root = newest.getBigUint64(offset, true);
      if (root !== meta.noRoot && root >= pages) throw damaged(path);
    }
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
