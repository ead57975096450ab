import { SessionError, type SessionErrorCode } from "@coppice/core";

const noPermission = "may not be used by this user; change its permissions or choose another place";
const tooLarge = "cannot grow: the disk, a quota or a size limit is reached; make room and try again";

/** What follows the path in a message, by the system's error code. */
const reasonsByErrno: ReadonlyMap<string, [SessionErrorCode, string]> = new Map([
  ["ENOENT", ["not_found", "does not exist; check the path"]],
  ["ENOTDIR", ["not_found", "does not exist, as a part of the path is no folder; check the path"]],
  ["EISDIR", ["invalid_session", "is a folder, not a session file; name a .jsonl file in it"]],
  ["EACCES", ["storage", noPermission]],
  ["EPERM", ["storage", noPermission]],
  ["EROFS", ["storage", "is on a read-only file system; choose another place"]],
  ["ENOSPC", ["storage_full", tooLarge]],
  ["EDQUOT", ["storage_full", tooLarge]],
  ["EFBIG", ["storage_full", tooLarge]],
  ["EMFILE", ["storage", "cannot be opened, as too many files are open; close some and try again"]],
]);

/**
 * The error a caller sees for a failed file operation: one sentence that names the file and what to do, the system's
 * error as `cause`. A `SessionError` passes through.
 */
export function toFileError(error: unknown, path: string): SessionError {
  if (error instanceof SessionError) return error;
  const [code, reason] = reasonsByErrno.get(errnoOf(error)) ?? [
    "storage",
    `could not be used (${error instanceof Error ? error.message : String(error)}); try again`,
  ];
  return new SessionError(code, `${path} ${reason}.`, { cause: error });
}

/** The system's error code, such as `ENOENT`; empty when the error carries none. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
