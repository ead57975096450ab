import { createNewerVersionError, SessionError } from "@coppice/core";
import { createRoomKeys, deriveRoomKeys, type RoomKeys } from "@coppice/storage-yjs";
import { fromHexString, toHexString } from "lib0/buffer";
import type { SessionLocals, SessionLocalsKeeper } from "./session-locals.ts";
import { type ListedSession, nameOf, type WorkspaceListing } from "./workspace-listing.ts";
import type { ListSessionsOptions, WorkspaceSession } from "./workspace-types.ts";

/** A session's room: its keys, the newest first. The room is the same under each. */
export type SessionKeys = readonly [RoomKeys, ...RoomKeys[]];

/** What a list of sessions is made of. */
export interface SessionListOptions {
  readonly workspaceKey: Uint8Array;
  readonly locals: Pick<SessionLocalsKeeper, "get">;
  readonly getListing: () => WorkspaceListing;
}

/** The sessions of a workspace, by what its records and this device say, with the keys of their rooms. */
export class SessionList {
  readonly #options: SessionListOptions;
  /** Deriving a room takes a tenth of a millisecond, and a list is read often. */
  readonly #firstKeys = new Map<string, RoomKeys>();
  /** Keys that were given, by the key in hex. */
  readonly #givenKeys = new Map<string, RoomKeys>();

  constructor(options: SessionListOptions) {
    this.#options = options;
  }

  /** By creation, newest first. */
  list({ archived, deleted = false, cwd }: ListSessionsOptions = {}): WorkspaceSession[] {
    const { locals, getListing } = this.#options;
    const sessions: WorkspaceSession[] = [];
    for (const listed of getListing().sessions.values()) {
      if (listed.createdAt === undefined || (listed.isDeleted && !deleted)) continue;
      if (archived !== undefined && archived !== listed.isArchived) continue;
      const session = this.#toSession(listed, listed.createdAt, locals.get(listed.sessionId));
      if (cwd === undefined || session.cwd === cwd) sessions.push(session);
    }
    return sessions.sort((left, right) =>
      left.createdAt < right.createdAt ? 1 : left.createdAt > right.createdAt ? -1 : 0,
    );
  }

  /** Whether a record deletes the session, listed or not. */
  isDeleted(sessionId: string): boolean {
    return this.#options.getListing().sessions.get(sessionId)?.isDeleted === true;
  }

  /** Every session that a record deletes. */
  *deleted(): Generator<{ readonly sessionId: string; readonly roomId: string }> {
    for (const { sessionId, isDeleted } of this.#options.getListing().sessions.values())
      if (isDeleted) yield { sessionId, roomId: this.#firstKeysOf(sessionId).roomId };
  }

  /** What is said of a session, deleted or not; undefined: nothing. Throws `version_mismatch` when only a newer version can tell. */
  find(sessionId: string): ListedSession | undefined {
    const listed = this.#options.getListing().sessions.get(sessionId);
    if (listed?.createdAt !== undefined) return listed;
    if (listed !== undefined && listed.newerRecords > 0)
      throw createNewerVersionError(`What the workspace says of session ${sessionId}`);
    return undefined;
  }

  /** As `find`; throws `not_found`. */
  require(sessionId: string): ListedSession {
    const listed = this.find(sessionId);
    if (listed !== undefined) return listed;
    throw new SessionError("not_found", `This workspace has no session ${sessionId}.`);
  }

  /** The keys of a session's room, also of one that is not listed yet. */
  keysOf(sessionId: string): SessionKeys {
    const first = this.#firstKeysOf(sessionId);
    const given = this.#options.getListing().sessions.get(sessionId)?.keys ?? [];
    const later = given.map((key) => this.#givenKeysOf(first.roomId, key));
    const [newest = first, ...older] = [first, ...later].reverse();
    return [newest, ...older];
  }

  #givenKeysOf(roomId: string, key: string): RoomKeys {
    const known = this.#givenKeys.get(key);
    if (known !== undefined) return known;
    const keys = createRoomKeys(roomId, new Uint8Array(fromHexString(key)));
    this.#givenKeys.set(key, keys);
    return keys;
  }

  #firstKeysOf(sessionId: string): RoomKeys {
    const known = this.#firstKeys.get(sessionId);
    if (known !== undefined) return known;
    const keys = deriveRoomKeys(this.#options.workspaceKey, sessionId);
    this.#firstKeys.set(sessionId, keys);
    return keys;
  }

  #toSession(
    listed: ListedSession,
    createdAt: string,
    { cwd = listed.cwd, ...locals }: SessionLocals,
  ): WorkspaceSession {
    const name = nameOf(listed);
    const [newest, ...older] = this.keysOf(listed.sessionId);
    const { parentSession } = listed;
    return {
      id: listed.sessionId,
      createdAt,
      ...listed.hints,
      ...locals,
      ...(name === undefined ? {} : { name }),
      ...(parentSession === undefined ? {} : { parentSession }),
      ...(cwd === undefined ? {} : { cwd }),
      archived: listed.isArchived,
      deleted: listed.isDeleted,
      keyId: toHexString(newest.keyId),
      olderKeyIds: older.map(({ keyId }) => toHexString(keyId)),
      roomId: newest.roomId,
      needsUpgrade: listed.newerRecords > 0,
    };
  }
}
