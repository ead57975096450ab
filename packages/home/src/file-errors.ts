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

/** Says of a file operation that failed "Cannot read PATH: why", without a full stop. */
export function describeFileError(action: string, path: string, error: unknown): string {
  const code = readErrorCode(error);
  const message = error instanceof Error ? error.message : String(error);
  return `Cannot ${action} ${path}: ${(code === undefined ? undefined : reasonByErrorCode.get(code)) ?? message}`;
}
