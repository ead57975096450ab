/**
 * What `--json` prints: one object per line, with the kind in `coppice` and the version of its shape in `version`.
 * Fields may be added within a version; one that changes its meaning or goes away makes a new one (SPEC CP10-CP16).
 */
import type { LocalStatus, RelayStatus, SessionCursor, SyncStatus, WorkspaceSession } from "@coppice/client";
import type { SessionEntry } from "@coppice/core";
import { describeEntry } from "./entry-line.ts";

/** Versions of shapes by their kind (`coppice`); a kind that is not here has version 1. */
export const jsonShapeVersions: Readonly<Record<string, number>> = { status: 2, sync: 2 };

/** A session as every shape names it. */
export interface SessionReference {
  readonly id: string;
  readonly name?: string;
}

/** A device as every shape names it. */
export interface DeviceReference {
  readonly id: string;
  readonly name?: string;
}

/** What `status` and `sync` say of a session or of the workspace's list. */
export interface StateShape {
  readonly local: LocalStatus;
  readonly relay: RelayStatus;
  /** Records on this device that no acknowledgement of the relay covers. */
  readonly pending: number;
  readonly unsaved: number;
  /** ISO 8601; since the command began. */
  readonly lastAcknowledgedAt?: string;
  readonly notice?: { readonly code: number; readonly reason: string };
}

/** An entry as `tree` lists it: enough to draw it. */
export interface TreeEntryShape {
  readonly id: string;
  readonly parentId: string | null;
  readonly type: string;
  /** Of messages. */
  readonly role?: string;
  readonly timestamp: string;
  /** First line, printable. */
  readonly text: string;
  readonly label?: string;
  readonly device?: DeviceReference;
}

/** Prefixes a shape with its kind and version. */
export function toShape<Kind extends string, Fields extends object>(
  kind: Kind,
  fields: Fields,
): { coppice: Kind; version: number } & Fields {
  return { coppice: kind, version: jsonShapeVersions[kind] ?? 1, ...fields };
}

/** The session part of a shape. */
export function toSessionReference({ id, name }: { id: string; name?: string | undefined }): SessionReference {
  return name === undefined ? { id } : { id, name };
}

/** The device part of a shape. */
export function toDeviceReference(author: { deviceId: string; deviceName?: string | undefined }): DeviceReference {
  return author.deviceName === undefined ? { id: author.deviceId } : { id: author.deviceId, name: author.deviceName };
}

/** A session as `sessions` lists it. */
export interface ListedSessionShape extends SessionReference {
  readonly createdAt: string;
  readonly cwd?: string;
  readonly roomId: string;
  readonly archived?: true;
  readonly parentSession?: string;
  readonly deleted?: true;
  /** Of a deleted one: records that are on this device alone. */
  readonly unsent?: number;
}

/** A line of `sessions`. */
export function toListedSession(session: WorkspaceSession): ListedSessionShape {
  const { createdAt, cwd, roomId, archived, parentSession, deleted, unsent } = session;
  return {
    ...toSessionReference(session),
    createdAt,
    ...(cwd === undefined ? {} : { cwd }),
    roomId,
    ...(archived ? { archived } : {}),
    ...(parentSession === undefined ? {} : { parentSession }),
    ...(deleted ? { deleted } : {}),
    ...(unsent === undefined ? {} : { unsent }),
  };
}

/** The status part of a shape. */
export function toStateShape(status: SyncStatus): StateShape {
  const { local, relay, pending, unsaved, lastAcknowledgedAt, notice } = status;
  return {
    local,
    relay,
    pending,
    unsaved,
    ...(lastAcknowledgedAt === undefined ? {} : { lastAcknowledgedAt: new Date(lastAcknowledgedAt).toISOString() }),
    ...(notice === undefined ? {} : { notice }),
  };
}

/** The cursors part of `tree`. */
export function toCursorShape(
  cursor: SessionCursor,
): DeviceReference & { replicaId: string; leafId: string | null; self: boolean } {
  const { replicaId, leafId, self } = cursor;
  return { ...toDeviceReference(cursor), replicaId, leafId, self };
}

/** An entry of `tree`. */
export function toTreeEntry(
  entry: SessionEntry,
  label: string | undefined,
  device: DeviceReference | undefined,
): TreeEntryShape {
  return {
    id: entry.id,
    parentId: entry.parentId,
    type: entry.type,
    ...(entry.type === "message" ? { role: entry.message.role } : {}),
    timestamp: entry.timestamp,
    text: describeEntry(entry).text,
    ...(label === undefined ? {} : { label }),
    ...(device === undefined ? {} : { device }),
  };
}
