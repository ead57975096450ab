import type {
  DeviceRecord,
  FirstSessionRecord,
  ReadWorkspaceRecord,
  SessionHints,
  SessionRecord,
  WorkspaceRecord,
} from "./workspace-records.ts";

/** What a workspace's records say of one session. */
export interface ListedSession {
  readonly sessionId: string;
  /** Undefined: no record we can read lists it (yet). */
  readonly createdAt: string | undefined;
  readonly parentSession?: string | undefined;
  /** As it was listed, and as it was changed since; null: taken away. */
  readonly listedName?: string | undefined;
  readonly changedName?: string | null | undefined;
  readonly isArchived: boolean;
  readonly isDeleted: boolean;
  readonly hints: SessionHints;
  /** Keys the session was given beside its first one, in hex, the newest last. */
  readonly keys: readonly string[];
  /** Version 1 alone: the folder on the device that listed it. */
  readonly cwd?: string | undefined;
  /** Records of it that a later version of Coppice wrote. */
  readonly newerRecords: number;
}

/** What a workspace's records say, all together. */
export interface WorkspaceListing {
  /** By id, in the order in which they were first spoken of. */
  readonly sessions: ReadonlyMap<string, ListedSession>;
  /** By id. */
  readonly devices: ReadonlyMap<string, DeviceRecord>;
  /** Records that a later version of Coppice wrote. */
  readonly newerRecords: number;
}

/**
 * Puts a listing together from records, given in the order in which they count: by (`n`, log position). Every field has
 * a last of its own, so what two devices say at the same moment about different things both stands. SPEC WS30.
 */
export class ListingBuilder implements WorkspaceListing {
  readonly #sessions = new Map<string, ListedSession>();
  readonly #devices = new Map<string, DeviceRecord>();
  #newerRecords = 0;

  get sessions(): ReadonlyMap<string, ListedSession> {
    return this.#sessions;
  }

  get devices(): ReadonlyMap<string, DeviceRecord> {
    return this.#devices;
  }

  get newerRecords(): number {
    return this.#newerRecords;
  }

  /** Takes the next record. */
  add(read: ReadWorkspaceRecord): void {
    if (read.kind === "unknown") return;
    if (read.kind === "newer") {
      this.#newerRecords++;
      if (read.sessionId !== undefined) this.#change(read.sessionId, noteNewer);
      return;
    }
    const { record } = read;
    if (record.type === "workspace_device") this.#devices.set(record.deviceId, record);
    else this.#change(record.sessionId, (session) => reduceSession(session, record));
  }

  #change(sessionId: string, change: (session: ListedSession) => ListedSession): void {
    this.#sessions.set(sessionId, change(this.#sessions.get(sessionId) ?? createUnlisted(sessionId)));
  }
}

/** The life of a session in a list: what it is after a record that counts later than all before. */
function reduceSession(
  session: ListedSession,
  record: Exclude<WorkspaceRecord, DeviceRecord> | FirstSessionRecord,
): ListedSession {
  switch (record.type) {
    case "workspace_session":
      return listSession(session, record);
    case "workspace_session_1":
      return listFirstSession(session, record);
    case "workspace_session_change":
      return {
        ...session,
        ...(record.name === undefined ? {} : { changedName: record.name }),
        isArchived: record.archived ?? session.isArchived,
        hints: { ...session.hints, ...pickHints(record) },
      };
    case "workspace_session_key":
      // Given again it becomes the newest: two devices that pass one on must not end with different ones.
      return { ...session, keys: [...session.keys.filter((key) => key !== record.key), record.key] };
    case "workspace_session_deletion":
      return { ...session, isDeleted: true };
  }
}

/** The name a list shows; undefined: none. */
export function nameOf({ changedName, listedName }: ListedSession): string | undefined {
  return changedName === undefined ? listedName : (changedName ?? undefined);
}

/** What was there first stays: a session that is listed twice was imported on two devices. */
function listSession(session: ListedSession, record: SessionRecord): ListedSession {
  const { createdAt, parentSession, name: listedName } = record;
  const isListed = session.createdAt !== undefined;
  return {
    ...session,
    ...(isListed ? {} : { createdAt, parentSession, listedName }),
    hints: { ...pickHints(record), ...session.hints },
  };
}

function listFirstSession(session: ListedSession, { createdAt, cwd, name }: FirstSessionRecord): ListedSession {
  const isListed = session.createdAt !== undefined;
  return { ...session, ...(isListed ? {} : { createdAt, cwd }), listedName: name };
}

function pickHints({ gitRemote, gitCommit }: SessionHints): SessionHints {
  return {
    ...(gitRemote === undefined ? {} : { gitRemote }),
    ...(gitCommit === undefined ? {} : { gitCommit }),
  };
}

function noteNewer(session: ListedSession): ListedSession {
  return { ...session, newerRecords: session.newerRecords + 1 };
}

function createUnlisted(sessionId: string): ListedSession {
  return {
    sessionId,
    createdAt: undefined,
    isArchived: false,
    isDeleted: false,
    hints: {},
    keys: [],
    newerRecords: 0,
  };
}
