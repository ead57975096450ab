/*
 * What is written into a workspace's log, and how it is read back. Each record says only what its writer means to say,
 * so that two devices that change different things of one session at the same moment both succeed. A kind of record
 * gets another version only when an older reader must not act on it; fields it may pass over are simply added.
 */

/** What a session has to do with code, wherever it is checked out: hints, never needed to open it. */
export interface SessionHints {
  /** Address of the git remote, as git has it; never with a user name or a password in it. */
  readonly gitRemote?: string;
  /** The commit that was checked out. */
  readonly gitCommit?: string;
}

/** Lists a session. SPEC WS31. */
export interface SessionRecord extends SessionHints {
  readonly type: "workspace_session";
  readonly sessionId: string;
  /** ISO 8601, from the session's header. */
  readonly createdAt: string;
  /** Id of the session it was forked from. */
  readonly parentSession?: string;
  /** The name it had when it was listed. */
  readonly name?: string;
}

/** The first version of such a record, which is only read. It was written again to change the name. SPEC WS3. */
export interface FirstSessionRecord {
  readonly type: "workspace_session_1";
  readonly sessionId: string;
  readonly createdAt: string;
  /** The folder on the device that listed it. */
  readonly cwd: string;
  readonly name?: string;
}

/** Changes what the list says of a session; what is absent stays as it is. SPEC WS32. */
interface SessionChangeRecord extends SessionHints {
  readonly type: "workspace_session_change";
  readonly sessionId: string;
  /** Null takes the name away. */
  readonly name?: string | null;
  readonly archived?: boolean;
}

/** Gives a session's room a key to write with from now on. SPEC WS33. */
interface SessionKeyRecord {
  readonly type: "workspace_session_key";
  readonly sessionId: string;
  /** 32 bytes, in hex. */
  readonly key: string;
}

/** Deletes a session, for good. SPEC WS34. */
interface SessionDeletionRecord {
  readonly type: "workspace_session_deletion";
  readonly sessionId: string;
}

/** A device tells its name. SPEC WS4. */
export interface DeviceRecord {
  readonly type: "workspace_device";
  readonly deviceId: string;
  readonly name: string;
  readonly person?: string;
  /** X25519, 32 bytes, in hex: what is sealed for it only this device can open. */
  readonly publicKey?: string;
}

/** What a record of a workspace says. */
export type WorkspaceRecord =
  | SessionRecord
  | SessionChangeRecord
  | SessionKeyRecord
  | SessionDeletionRecord
  | DeviceRecord;

/** What reading a record gave. `newer`: a later version of a kind we know, of this session or device when it says so. */
export type ReadWorkspaceRecord =
  | { readonly kind: "known"; readonly record: WorkspaceRecord | FirstSessionRecord }
  | { readonly kind: "newer"; readonly sessionId?: string }
  | { readonly kind: "unknown" };

type Fields = { readonly [field: string]: unknown };

/** The versions that are written, by kind. */
const versions: { readonly [type in WorkspaceRecord["type"]]: number } = {
  workspace_session: 2,
  workspace_session_change: 1,
  workspace_session_key: 1,
  workspace_session_deletion: 1,
  workspace_device: 1,
};

/** The JSON text of a record. Every record is an entry of the log, so it has an id, no parent and a time. */
export function formatWorkspaceRecord(record: WorkspaceRecord, id: string, timestamp: string): string {
  const { type, ...fields } = record;
  return JSON.stringify({ type, v: versions[type], id, parentId: null, timestamp, ...fields });
}

/**
 * Reads a record. Whoever wrote it has the workspace key, but maybe a later version of Coppice: what does not fit is
 * unknown and left alone. Never throws.
 */
export function parseWorkspaceRecord(json: string): ReadWorkspaceRecord {
  const fields = parseObject(json);
  if (fields === undefined || !isKnownType(fields.type)) return { kind: "unknown" };
  const version = fields.v ?? 1;
  if (typeof version !== "number" || !Number.isSafeInteger(version) || version < 1) return { kind: "unknown" };
  if (version > versions[fields.type]) {
    // The id of the session keeps its place in every version, so that its list shows that something is missing.
    return typeof fields.sessionId === "string" ? { kind: "newer", sessionId: fields.sessionId } : { kind: "newer" };
  }
  const record = readFields(fields, fields.type, version);
  return record === undefined ? { kind: "unknown" } : { kind: "known", record };
}

function readFields(
  fields: Fields,
  type: WorkspaceRecord["type"],
  version: number,
): WorkspaceRecord | FirstSessionRecord | undefined {
  if (type === "workspace_device") return readDevice(fields);
  const { sessionId } = fields;
  if (typeof sessionId !== "string") return undefined;
  switch (type) {
    case "workspace_session":
      return version === 1 ? readFirstSession(fields, sessionId) : readSession(fields, sessionId);
    case "workspace_session_change":
      return readChange(fields, sessionId);
    case "workspace_session_key":
      return isHexOfKey(fields.key) ? { type, sessionId, key: fields.key } : undefined;
    case "workspace_session_deletion":
      return { type, sessionId };
  }
}

function readSession(fields: Fields, sessionId: string): SessionRecord | undefined {
  const { createdAt } = fields;
  const texts = pickTexts(fields, ["name", "parentSession", "gitRemote", "gitCommit"]);
  if (typeof createdAt !== "string" || texts === undefined) return undefined;
  return { type: "workspace_session", sessionId, createdAt, ...texts };
}

function readFirstSession(fields: Fields, sessionId: string): FirstSessionRecord | undefined {
  const { createdAt, cwd } = fields;
  const texts = pickTexts(fields, ["name"]);
  if (typeof createdAt !== "string" || typeof cwd !== "string" || texts === undefined) return undefined;
  return { type: "workspace_session_1", sessionId, createdAt, cwd, ...texts };
}

function readChange(fields: Fields, sessionId: string): SessionChangeRecord | undefined {
  const { name, archived } = fields;
  const texts = pickTexts(fields, ["gitRemote", "gitCommit"]);
  if (texts === undefined || !(name === undefined || name === null || typeof name === "string")) return undefined;
  if (!(archived === undefined || typeof archived === "boolean")) return undefined;
  return {
    type: "workspace_session_change",
    sessionId,
    ...texts,
    ...(name === undefined ? {} : { name }),
    ...(archived === undefined ? {} : { archived }),
  };
}

function readDevice(fields: Fields): DeviceRecord | undefined {
  const { deviceId, name, publicKey } = fields;
  const texts = pickTexts(fields, ["person"]);
  if (typeof deviceId !== "string" || typeof name !== "string" || texts === undefined) return undefined;
  return {
    type: "workspace_device",
    deviceId,
    name,
    ...texts,
    ...(isHexOfKey(publicKey) ? { publicKey } : {}),
  };
}

/** These fields as far as they are there; undefined when one is there and no text. */
function pickTexts(fields: Fields, names: readonly string[]): { [name: string]: string } | undefined {
  const texts: { [name: string]: string } = {};
  for (const name of names) {
    const value = fields[name];
    if (value === undefined) continue;
    if (typeof value !== "string") return undefined;
    texts[name] = value;
  }
  return texts;
}

function isKnownType(type: unknown): type is WorkspaceRecord["type"] {
  return typeof type === "string" && Object.hasOwn(versions, type);
}

function isHexOfKey(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
}

function parseObject(json: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? (value as Fields) : undefined;
  } catch {
    // Authentic, yet no JSON: some other program's record. Unknown like any other kind.
    return undefined;
  }
}
