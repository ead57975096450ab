import { SessionError } from "@coppice/core";
import { toPrintableLine } from "./terminal-text.ts";
import { UsageError } from "./usage-error.ts";

const reasonByErrorCode: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "there is no such file or folder"],
  ["EACCES", "this user may not do that"],
  ["EPERM", "this user may not do that"],
  ["EROFS", "the file system is read-only"],
  ["ENOTDIR", "a part of the path is a file, not a folder"],
  ["EISDIR", "it is a folder, not a file"],
  ["EEXIST", "it is there already"],
  ["ENOSPC", "the disk is full"],
  ["EMFILE", "too many files are open"],
]);

/** The `code` of a Node system error, or undefined for anything else. */
export function readErrorCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** "Cannot read PATH: why", without a full stop, for a file operation that failed. */
export function describeFileError(action: string, path: string, error: unknown): string {
  const code = readErrorCode(error);
  const message = error instanceof Error ? error.message : String(error);
  return `Cannot ${action} ${path}: ${(code === undefined ? undefined : reasonByErrorCode.get(code)) ?? message}`;
}

/** What the command says on stderr and how it exits. */
export interface Failure {
  /** One line. */
  readonly sentence: string;
  /** 1: it failed. 2: it was called wrongly. */
  readonly exitCode: 1 | 2;
}

/** Turns whatever was thrown into one line and an exit code. */
export function toFailure(error: unknown): Failure {
  // Messages name ids and names that other devices wrote.
  const message = toPrintableLine(error instanceof Error ? error.message : String(error));
  if (error instanceof UsageError) return { sentence: message, exitCode: 2 };
  if (error instanceof SessionError) return { sentence: message, exitCode: 1 };
  return {
    sentence: `Something unexpected went wrong: ${message || "no message"}; set COPPICE_DEBUG=1 to see where.`,
    exitCode: 1,
  };
}
