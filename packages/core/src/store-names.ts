import { SessionError } from "./errors.ts";

const namePattern = /^[\x20-\x7e]{1,200}$/;

/**
 * Throws `storage` unless the name of a log, of derived data or of a value is 1-200 printable ASCII characters, which
 * every database takes as a key. For implementations of `UpdateStore`. SPEC UL16.
 */
export function assertStoreName(what: "log" | "derived data" | "value", name: string): void {
  if (namePattern.test(name)) return;
  throw new SessionError(
    "storage",
    `The name of a ${what} must be 1-200 printable ASCII characters: ${JSON.stringify(name)}`,
  );
}
