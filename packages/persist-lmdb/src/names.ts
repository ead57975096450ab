import { SessionError } from "@coppice/core";

const namePattern = /^[\x20-\x7e]{1,200}$/;

/**
 * Throws `storage` unless the name is 1-200 printable ASCII characters. Keys hold names as they are, so this also
 * keeps every key far below LMDB's limit, which must not be met in the middle of a write.
 */
export function assertName(what: "log" | "derived data" | "value", name: string): void {
  if (namePattern.test(name)) return;
  throw new SessionError(
    "storage",
    `The name of a ${what} must be 1-200 printable ASCII characters: ${JSON.stringify(name)}`,
  );
}
