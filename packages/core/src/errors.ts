/**
 * What went wrong, as a stable string. The first six are those of pi's session contract; the rest are Coppice's own.
 * Callers branch on the code, never on the message.
 */
export type SessionErrorCode =
  | "not_found"
  | "invalid_session"
  | "invalid_entry"
  | "invalid_fork_target"
  | "storage"
  | "unknown"
  | "storage_full"
  | "not_synced"
  | "relay_refused"
  | "version_mismatch"
  | "wrong_key"
  | "closed";

/**
 * The one error class of the project. `code` says what kind, the message says what happened, to which id, and what
 * the reader can do; `cause` holds the error beneath, when there is one.
 */
export class SessionError extends Error {
  override readonly name = "SessionError";
  readonly code: SessionErrorCode;

  constructor(code: SessionErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/**
 * The one error for what a later version of Coppice wrote: it is neither used nor overwritten. `what` begins the
 * sentence: "The place of this device".
 */
export function createNewerVersionError(what: string): SessionError {
  return new SessionError("version_mismatch", `${what} was written by a newer version of Coppice; upgrade to use it.`);
}

/** An ordinary outcome that may be a failure: parsing bytes from outside, reading a damaged file. */
export type Result<Value, Failure> = { ok: true; value: Value } | { ok: false; error: Failure };
