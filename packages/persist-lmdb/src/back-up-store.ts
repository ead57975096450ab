import { access, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { SessionError } from "@coppice/core";
import { Environment } from "./environment.ts";
import { makeFolder } from "./make-folder.ts";
import { describeReadError } from "./storage-errors.ts";
import { dataFileName, syncFolder } from "./store-folder.ts";
import { syncFile } from "./sync-file.ts";

/** Where a store is and where its copy goes. */
export interface BackupOptions {
  /** The folder of the store. Other processes, and this one, may have it open and write to it meanwhile. */
  readonly from: string;
  /** The folder of the copy; made when missing, and without a store in it. */
  readonly to: string;
}

/**
 * Copies a store as it is at this moment: everything that was durable at the call, nothing half. The copy is compact
 * (no free pages) and a store like any other, opened where it is or moved to where it is needed. It gets its name when
 * it is complete and on disk, so an interrupted copy is no store. Rejects with `storage`, `storage_full`, or
 * `version_mismatch`; an existing store at `to` is never overwritten.
 */
export async function backUpLmdbStore({ from, to }: BackupOptions): Promise<void> {
  await access(join(from, dataFileName)).catch((cause: unknown) => {
    throw new SessionError("storage", `There is no store in ${from}.`, { cause });
  });
  const draft = join(to, "unfinished");
  await makeFolder(to);
  if (await exists(join(to, dataFileName))) {
    throw new SessionError("storage", `There is a store in ${to} already; choose an empty folder.`);
  }
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  const environment = new Environment(from);
  try {
    const tables = await environment.acquire();
    await tables.copyTo(draft);
    await syncFile(join(draft, dataFileName));
    await rename(join(draft, dataFileName), join(to, dataFileName));
    await syncFolder(to);
  } catch (error) {
    throw describeReadError(from, error);
  } finally {
    await rm(draft, { recursive: true, force: true });
    await environment.close();
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
