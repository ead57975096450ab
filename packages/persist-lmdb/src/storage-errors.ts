import { open, rm } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { SessionError } from "@coppice/core";

/** LMDB's own error for "the map cannot grow": lmdb.h, MDB_MAP_FULL. */
const mapFullCode = -30792;

const fullCodes: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EFBIG", "MDB_MAP_FULL"]);
const forbiddenCodes: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS"]);
const fileInTheWayCodes: ReadonlySet<string> = new Set(["ENOTDIR", "EEXIST"]);

/** What to tell the caller when a store cannot be opened: one sentence naming the folder and what to do. */
export function describeOpenError(folder: string, cause: unknown): SessionError {
  if (cause instanceof SessionError) return cause;
  const code = readErrorCode(cause);
  if (code !== undefined && fullCodes.has(code)) return storageFull(folder, cause);
  const advice =
    code !== undefined && forbiddenCodes.has(code)
      ? "this user may not write there; change its permissions or choose another folder."
      : code !== undefined && fileInTheWayCodes.has(code)
        ? "it, or something above it, is a file; choose another folder."
        : `${readMessage(cause)}; check the folder or choose another.`;
  return new SessionError("storage", `Cannot open the store in ${folder}: ${advice}`, { cause });
}

/**
 * What to tell the caller whose write failed. `bytes` is how much the commit carried.
 *
 * LMDB reports EIO when the system wrote a part of its pages, which is what a disk does that is just becoming full.
 * Whether it is the space or the device is found out by writing as much beside the data file.
 */
export async function describeCommitError(folder: string, bytes: number, cause: unknown): Promise<SessionError> {
  const root = await unwrapCommitError(cause);
  let code = readErrorCode(root);
  if (code === "EIO") code = (await probeSpace(folder, bytes)) ?? code;
  if (code !== undefined && fullCodes.has(code)) return storageFull(folder, root);
  return new SessionError(
    "storage",
    `The store in ${folder} could not be written: ${readMessage(root)}. Nothing of this write was kept; check the disk and try again.`,
    { cause: root },
  );
}

/** The error of a read that failed. */
export function describeReadError(folder: string, cause: unknown): SessionError {
  if (cause instanceof SessionError) return cause;
  return new SessionError("storage", `The store in ${folder} could not be read: ${readMessage(cause)}.`, { cause });
}

/** The error of what cannot be written for want of space; `cause` is what the system said, if it was asked. */
export function storageFull(folder: string, cause?: unknown): SessionError {
  return new SessionError("storage_full", `No space left for the store in ${folder}. Free some space and try again.`, {
    cause,
  });
}

/** The error of a store that was open and whose files are not in their place. */
export function storageGone(folder: string, cause?: unknown): SessionError {
  return new SessionError("storage", `The store in ${folder} is gone. Bring its folder back and try again.`, { cause });
}

/** lmdb rejects a failed commit with a general error whose `commitError` is a promise rejecting with the reason. */
async function unwrapCommitError(cause: unknown): Promise<unknown> {
  if (!(cause instanceof Error && "commitError" in cause)) return cause;
  try {
    await cause.commitError;
    return cause;
  } catch (reason) {
    return reason;
  }
}

/** Name of a system error: Node's errors carry it, lmdb's carry its number. */
function readErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error && "code" in error)) return undefined;
  if (typeof error.code === "string") return error.code;
  if (error.code === mapFullCode) return "MDB_MAP_FULL";
  return Object.entries(constants.errno).find(([, number]) => number === error.code)?.[0];
}

function readMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Pages a commit needs beside its payload: branches, catalogue, free list. */
const commitOverheadBytes = 64 * 1024;

/** The code of the error that writing this much into the folder meets; undefined when it fits. */
async function probeSpace(folder: string, bytes: number): Promise<string | undefined> {
  const path = join(folder, `space-check-${process.pid}`);
  try {
    const handle = await open(path, "w", 0o600);
    try {
      await handle.writeFile(new Uint8Array(bytes + commitOverheadBytes));
      await handle.sync();
    } finally {
      await handle.close();
    }
    return undefined;
  } catch (error) {
    return readErrorCode(error);
  } finally {
    await rm(path, { force: true });
  }
}
