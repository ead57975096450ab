import { createNewerVersionError, SessionError } from "@coppice/core";

/** What went wrong in a database, as a `SessionError`: `storage_full`, `version_mismatch` or `storage`. */
export function describeError(database: string, doing: string, cause: unknown): SessionError {
  if (cause instanceof SessionError) return cause;
  const name = (cause as { name?: unknown } | null)?.name;
  if (name === "QuotaExceededError")
    return new SessionError(
      "storage_full",
      `The browser has no more space for the database ${database}: remove data of this site, or free space on the disk.`,
      { cause },
    );
  if (name === "VersionError") return createNewerVersionError(`The database ${database}`);
  const text = cause instanceof Error || cause instanceof DOMException ? cause.message || cause.name : String(cause);
  return new SessionError("storage", `The database ${database} cannot be ${doing}: ${text}`, { cause });
}

/** A database has gone while it was open, by somebody else than this store. */
export function createVanishedError(database: string): SessionError {
  return new SessionError(
    "storage",
    `The database ${database} was deleted while it was in use; load the page again to begin a new one.`,
  );
}
