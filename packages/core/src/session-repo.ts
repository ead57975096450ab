import type { SessionEntry } from "./entries.ts";
import { SessionError } from "./errors.ts";
import type { Session } from "./session.ts";
import type { SessionMetadata, SessionStorage } from "./session-storage.ts";

/** What a new session may be given. */
export interface SessionCreateOptions {
  /** Default: a new UUIDv7. */
  readonly id?: string;
}

/** Which part of a session a fork takes over. */
export interface SessionForkOptions {
  /** Absent: all entries. Else the branch that ends there, or before it. */
  readonly entryId?: string;
  /** `before` (default): up to the parent of `entryId`, which must be a user message. `at`: up to and with `entryId`. */
  readonly position?: "before" | "at";
}

/** A place that holds sessions, with the methods of pi-agent-core's repositories. Rejections are `SessionError`s. */
export interface SessionRepo<
  Metadata extends SessionMetadata = SessionMetadata,
  CreateOptions extends SessionCreateOptions = SessionCreateOptions,
  ListOptions = undefined,
> {
  /** Makes an empty session. */
  create(options: CreateOptions): Promise<Session>;
  /** Opens a session. One that does not exist: `not_found`. */
  open(metadata: Metadata): Promise<Session>;
  /** What sessions there are, newest first. */
  list(options?: ListOptions): Promise<Metadata[]>;
  /** Removes a session; one that does not exist is fine. */
  delete(metadata: Metadata): Promise<void>;
  /** Makes a session from a part of another; entries keep their ids and texts. Wrong target: `invalid_fork_target`. */
  fork(source: Metadata, options: SessionForkOptions & CreateOptions): Promise<Session>;
}

/** The exact JSON texts of the entries a fork takes over, in an order where parents that are known come first. */
export async function readForkLines(storage: SessionStorage, options: SessionForkOptions): Promise<string[]> {
  const lines: string[] = [];
  for (const { id } of await selectForkEntries(storage, options)) {
    const line = await storage.getEntryJson(id);
    if (line !== undefined) lines.push(line);
  }
  return lines;
}

async function selectForkEntries(storage: SessionStorage, options: SessionForkOptions): Promise<SessionEntry[]> {
  const { entryId, position = "before" } = options;
  if (entryId === undefined) return storage.getEntries();
  const target = await storage.getEntry(entryId);
  if (target === undefined) throw new SessionError("invalid_fork_target", `Entry ${entryId} not found`);
  if (position === "at") return storage.getPathToRoot(entryId);
  if (target.type !== "message" || target.message?.role !== "user") {
    throw new SessionError("invalid_fork_target", `Entry ${entryId} is not a user message`);
  }
  return storage.getPathToRoot(target.parentId === "" ? null : target.parentId);
}
