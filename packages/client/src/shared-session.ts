import { createNewerVersionError, Session, SessionError, type UpdateStore } from "@coppice/core";
import {
  type LogRecord,
  type RecordCrypto,
  type ResumePlan,
  type ResumePolicy,
  type RoomKeys,
  type SessionTreeView,
  type StoredLeaf,
  YjsSessionStorage,
} from "@coppice/storage-yjs";
import { closeCodes } from "@coppice/wire";
import type * as Y from "yjs";
import { BranchWatch } from "./branch-watch.ts";
import { type DeviceValueFormat, decodeDeviceValue, encodeDeviceValue } from "./device-value.ts";
import type { Replica, ReplicaReader } from "./replica.ts";
import { SessionCursors } from "./session-cursors.ts";
import { describeProblems, type SessionProblem } from "./session-problems.ts";
import type { SyncStatus } from "./sync-status.ts";
import type { BranchEvent, SessionChangeKind, SessionCursor, SharedSession } from "./workspace-types.ts";

/** What an open session needs from its workspace. */
export interface OpenSharedSessionOptions {
  readonly id: string;
  readonly replica: Replica;
  readonly roomId: string;
  /** The newest first. Absent: an unsealed room. */
  readonly keys: readonly RoomKeys[] | undefined;
  readonly crypto: RecordCrypto | undefined;
  readonly store: UpdateStore;
  readonly deviceId: string;
  /** Ids this device had before, newest first. */
  readonly formerDeviceIds: readonly string[];
  readonly replicaId: string;
  /** Whose leaf the cursor shows. */
  readonly cursor: "replica" | "device";
  /** False: this replica could not be registered as one of its home, so its cursor is shown to nobody. */
  readonly isVisible: boolean;
  readonly deviceNames: () => ReadonlyMap<string, string>;
  /** Another replica shows itself under this device's id; `isShown` says whether it still does. */
  readonly onSameDevice: (replicaId: string, isShown: () => boolean) => void;
  /** Other devices have made the session branch. */
  readonly onBranches: (branches: readonly BranchEvent[]) => void;
  /** The session's own name changed here. */
  readonly onNamed: (name: string | undefined) => void;
  /** The session is being closed; told once. */
  readonly onClosing: (closing: Promise<void>) => void;
}

/** How long a room must have been quiet before a new device takes its place in it, in ms: well above a sender's gaps. */
const quietMs = 300;
/** A device that never pauses must not keep a new one out: by then after its first complete sync it is in, in ms. */
const longestSettlingMs = 1_500;

/** Derived data of a room's log: the index of its session. */
const indexSlot = "session-index";

const leafFormat: DeviceValueFormat = { version: 1, what: "The place of this device in a session" };
/** The mark of a device that has had all of a session is one byte, its version. */
const syncedVersion = 1;

/** Values of this device in the store, per session; by its room, because a session id may be any text. */
const leafKey = (roomId: string): string => `leaf/${roomId}`;
const syncedKey = (roomId: string): string => `synced/${roomId}`;

/** Opens a session over its replica; nothing is sent before `connect` of the replica. */
export async function openSharedSession(options: OpenSharedSessionOptions): Promise<OpenedSession> {
  const { id, roomId, replica, crypto, store, deviceId, formerDeviceIds } = options;
  const [newestKeys, ...olderKeys] = options.keys ?? [];
  const [leaf, synced] = await Promise.all([store.readValue(leafKey(roomId)), store.readValue(syncedKey(roomId))]);
  const isSynced = readSyncedMark(synced);
  const storedLeaf = parseStoredLeaf(leaf);
  const storage = await YjsSessionStorage.open({
    doc: replica.doc,
    sessionId: id,
    keys: newestKeys,
    olderKeys,
    crypto,
    deviceId,
    formerDeviceIds,
    flushed: () => replica.flushed(),
    ownLeaf: {
      read: () => storedLeaf,
      write: (leaf) => store.writeValue(leafKey(roomId), encodeDeviceValue(leafFormat, { ...leaf })),
    },
    arrivals: replica.arrivals,
    indexSnapshot: {
      read: () => replica.readDerived(indexSlot),
      write: (snapshot) => replica.writeDerived(indexSlot, snapshot),
    },
    synced: isSynced,
  });
  const session = new OpenedSession(options, storage, isSynced);
  await replica.attach(session);
  return session;
}

/** The `SharedSession` of this package: a storage, a `Session`, a cursor and a status over one replica. */
export class OpenedSession implements SharedSession, ReplicaReader {
  readonly id: string;
  readonly roomId: string;
  readonly storage: YjsSessionStorage;
  readonly session: Session;
  readonly #options: OpenSharedSessionOptions;
  readonly #listeners = new Set<(change: SessionChangeKind) => void>();
  readonly #cursors: SessionCursors;
  readonly #branches: BranchWatch;
  /** When entries last came into the session here, from wherever, in ms since 1970; undefined: not since it was opened. */
  lastEntryAt: number | undefined;
  readonly #stops: (() => void)[] = [];
  #deviceId: string;
  /** As subscribers know it. */
  #leafId: string | null | undefined;
  #keys: readonly RoomKeys[];
  #isSynced: boolean;
  #quietTimer: ReturnType<typeof setTimeout> | undefined;
  /** When the place is taken at the latest; undefined while no complete sync with a header stands. */
  #settleByMs: number | undefined;
  #markingSynced: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: OpenSharedSessionOptions, storage: YjsSessionStorage, isSynced: boolean) {
    const { id, roomId, replica, keys, crypto, deviceId, replicaId, deviceNames } = options;
    this.id = id;
    this.roomId = roomId;
    this.#options = options;
    this.#deviceId = deviceId;
    this.#keys = keys ?? [];
    this.#isSynced = isSynced;
    this.storage = storage;
    this.session = new Session(this.storage);
    this.#cursors = new SessionCursors({
      sessionId: id,
      keys,
      crypto,
      storage,
      replica,
      deviceId: () => this.#deviceId,
      replicaId,
      shows: options.cursor,
      isVisible: options.isVisible,
      deviceNames,
      onSameDevice: (other) => options.onSameDevice(other, () => this.#showsSameDevice(other)),
      onChange: () => {
        // What a follower looks at is decided by the others' cursors.
        this.#noticeLeaf();
        this.#notify("cursors");
      },
    });
    this.#branches = new BranchWatch({
      sessionId: id,
      storage,
      isOwnDevice: (other) => other === this.#deviceId || options.formerDeviceIds.includes(other),
      deviceNames,
      onBranches: options.onBranches,
    });
    this.#stops.push(
      this.storage.subscribeToTree((change) => {
        const { added, remote } = change;
        this.lastEntryAt = Date.now();
        // What was there before this device had its place is no news to anybody.
        if (this.#isSynced) this.#branches.take(change);
        if (!remote && added.some(({ type }) => type === "session_info")) this.#tellName();
        // The room is not quiet yet: the wait begins anew.
        this.#stopSettling();
        this.#settleWhenQuiet();
        this.#updateCursor();
        this.#notify("entries");
      }),
      replica.subscribe(() => {
        this.#settleWhenQuiet();
        // The cursor is sealed for one client id, and the replica may have had to take another.
        this.#updateCursor();
        this.#notify("status");
      }),
    );
    this.#stops.push(() => this.#cursors.close());
    this.#leafId = this.getLeafId();
    this.#cursors.update();
  }

  rebase(doc: Y.Doc, setAside: readonly LogRecord[]): readonly LogRecord[] {
    const unreadable = this.storage.rebase(doc, setAside);
    this.#updateCursor();
    // The tree has been made anew, also when nothing in it looks different.
    this.#notify("entries");
    return unreadable;
  }

  /** Writes the session's header here and makes this replica one that may append. */
  async create(headerJson: string): Promise<void> {
    if (this.storage.getHeaderJson() === undefined) await this.storage.create(headerJson);
    else await this.#options.replica.flushed();
    await this.#writeSynced();
    this.storage.markSynced();
    this.#updateCursor();
  }

  /** Makes an entry the device's leaf without a move in the log; the cursor shows it. */
  async standAt(leafId: string | null): Promise<void> {
    await this.storage.standAt(leafId);
    this.#updateCursor();
  }

  get hasBeenFetched(): boolean {
    return this.#isSynced;
  }

  getAuthor(entryId: string): { deviceId: string; deviceName?: string } | undefined {
    const deviceId = this.storage.getAuthor(entryId);
    if (deviceId === undefined) return undefined;
    const deviceName = this.#options.deviceNames().get(deviceId);
    return { deviceId, ...(deviceName === undefined ? {} : { deviceName }) };
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  get tree(): SessionTreeView {
    return this.storage.treeView;
  }

  getLeafId(): string | null | undefined {
    return this.storage.isPlaced ? this.storage.getReplicaLeaf() : undefined;
  }

  getProblems(): SessionProblem[] {
    return describeProblems(this.storage.getUnreadable());
  }

  /** This device goes by another id from now on and keeps its place. */
  takeDeviceId(deviceId: string): void {
    this.storage.takeDeviceId(deviceId);
    this.#deviceId = deviceId;
    this.#updateCursor();
  }

  /** The room has these keys from now on, the newest first; unsealed ones have none. */
  takeKeys(keys: readonly RoomKeys[]): void {
    if (this.#closing !== undefined || !hasChanged(keys, this.#keys)) return;
    this.#keys = keys;
    this.storage.takeKeys(keys);
    this.#cursors.takeKeys(keys);
    this.#noticeLeaf();
    this.#notify("entries");
  }

  /** Shows the others where this replica stands, follows on, and tells who listens here when that led elsewhere. */
  #updateCursor(): void {
    this.#cursors.update();
    this.#noticeLeaf();
  }

  #noticeLeaf(): void {
    const leafId = this.getLeafId();
    if (leafId === this.#leafId) return;
    this.#leafId = leafId;
    this.#notify("leaf");
  }

  /** Devices may go by other names now. */
  noticeDeviceNames(): void {
    this.#notify("cursors");
  }

  #showsSameDevice(replicaId: string): boolean {
    return this.getCursors().some((cursor) => cursor.replicaId === replicaId && cursor.sameDevice);
  }

  getDeviceLeafId(): string | null {
    return this.storage.getDeviceLeaf();
  }

  async standWithDevice(): Promise<void> {
    if (this.#cursors.isRunning)
      throw new SessionError(
        "invalid_session",
        "An agent runs on this session; it keeps its place until it has ended.",
      );
    const { replica, store } = this.#options;
    await replica.readNewest();
    // Another process may have fetched or imported the session meanwhile; it leaves the place it took with the device.
    const leaf = await store.readValue(leafKey(this.roomId));
    if (!this.#isSynced && readSyncedMark(await store.readValue(syncedKey(this.roomId)))) {
      this.#isSynced = true;
      this.storage.markSynced();
    }
    this.storage.standWithDevice(parseStoredLeaf(leaf));
    this.#updateCursor();
  }

  planResume(policy: ResumePolicy): ResumePlan {
    return this.storage.planResume(policy);
  }

  async resume(policy: ResumePolicy): Promise<ResumePlan> {
    const plan = this.planResume(policy);
    if (plan.kind !== "stay" && this.#cursors.isRunning)
      throw new SessionError(
        "invalid_session",
        "An agent runs on this session; resume it elsewhere once it has ended.",
      );
    // Not a move of the view alone: whoever has seen the place and comes back must find it again, also when the work
    // of the others has branched since and nothing could be fast-forwarded any more.
    if (plan.kind !== "stay") await this.session.moveTo(plan.toId, undefined, plan.fromId);
    return plan;
  }

  getCursors(): SessionCursor[] {
    return this.#cursors.list();
  }

  follow(deviceId: string): void {
    this.#cursors.follow(deviceId);
  }

  unfollow(): void {
    this.#cursors.unfollow();
  }

  setRunning(isRunning: boolean): void {
    this.#cursors.setRunning(isRunning);
  }

  status(): SyncStatus {
    return this.#options.replica.status();
  }

  subscribe(listener: (change: SessionChangeKind) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  subscribeBranches(listener: (branches: readonly BranchEvent[]) => void): () => void {
    return this.#branches.subscribe(listener);
  }

  async waitUntilSynced(timeoutMs: number): Promise<boolean> {
    const deadlineMs = performance.now() + timeoutMs;
    if (!(await this.#options.replica.waitFor(({ relay }) => relay.state === "live", timeoutMs))) return false;
    return this.#waitUntilPlaced(Math.max(0, deadlineMs - performance.now()));
  }

  /** True once this replica has its leaf. */
  #waitUntilPlaced(timeoutMs: number): Promise<boolean> {
    if (this.#isSynced) return Promise.resolve(true);
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        stop();
        resolve(this.#isSynced);
      };
      const timer = setTimeout(finish, timeoutMs);
      const stop = this.subscribe(() => {
        if (this.#isSynced) finish();
      });
    });
  }

  waitUntilAcknowledged(timeoutMs: number): Promise<boolean> {
    return this.#options.replica.waitUntilAcknowledged(timeoutMs);
  }

  /** Deletes the room at the relay; see `Workspace.deleteRoom`. */
  deleteRoom(secret: Uint8Array, timeoutMs: number): Promise<boolean> {
    return this.#options.replica.deleteRoom(secret, timeoutMs);
  }

  /** The session was deleted: from now on nothing of it is sent or fetched. What is here stays, and may be added to. */
  leaveDeleted(): void {
    this.#options.replica.leave(closeCodes.roomDeleted, "this session was deleted from the workspace");
  }

  resync(): void {
    this.#options.replica.resync();
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = this.#close();
      this.#options.onClosing(this.#closing);
    }
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopSettling();
    for (const stop of this.#stops) stop();
    this.#listeners.clear();
    try {
      await this.#markingSynced;
      await this.storage.close();
    } finally {
      await this.#options.replica.close();
    }
  }

  /**
   * The first complete sync gives an attached replica its leaf, for good. Another device may be in the middle of
   * sending a long session, so the place is taken only once no entry has come for a moment; one that always writes
   * is not waited for.
   */
  #settleWhenQuiet(): void {
    if (this.#isSynced || this.#closing !== undefined) return;
    if (this.#options.replica.status().relay.state !== "live" || this.storage.getHeaderJson() === undefined) {
      this.#stopSettling();
      this.#settleByMs = undefined;
      return;
    }
    if (this.#quietTimer !== undefined || this.#markingSynced !== undefined) return;
    const nowMs = performance.now();
    this.#settleByMs ??= nowMs + longestSettlingMs;
    this.#quietTimer = setTimeout(
      () => {
        this.#quietTimer = undefined;
        this.#markingSynced = this.#markSynced().finally(() => {
          this.#markingSynced = undefined;
        });
      },
      Math.max(0, Math.min(quietMs, this.#settleByMs - nowMs)),
    );
  }

  #stopSettling(): void {
    clearTimeout(this.#quietTimer);
    this.#quietTimer = undefined;
  }

  async #markSynced(): Promise<void> {
    try {
      if (this.#isSynced) return;
      await this.#options.replica.flushed();
      await this.#writeSynced();
      this.storage.markSynced();
      this.#updateCursor();
      this.#notify("entries");
    } catch (error) {
      // The disk is full or gone: the replica's status says so, and the next change of it tries again.
      if (!(error instanceof SessionError)) throw error;
    }
  }

  async #writeSynced(): Promise<void> {
    await this.#options.store.writeValue(syncedKey(this.roomId), Uint8Array.of(syncedVersion));
    this.#isSynced = true;
  }

  #tellName(): void {
    this.storage.getSessionName().then(this.#options.onNamed, (error: unknown) => {
      if (!(error instanceof SessionError)) throw error;
    });
  }

  #notify(change: SessionChangeKind): void {
    for (const listener of this.#listeners) listener(change);
  }
}

function hasChanged(keys: readonly RoomKeys[], before: readonly RoomKeys[]): boolean {
  return keys.length !== before.length || keys.some((key, at) => key !== before[at]);
}

/** A value that is none is a place lost: the device's own last record tells where it stands. */
function parseStoredLeaf(bytes: Uint8Array | undefined): StoredLeaf | undefined {
  const fields = decodeDeviceValue(leafFormat, bytes);
  if (fields === undefined) return undefined;
  const { leafId, ownRecordId, sinceRecordId, deviceId } = fields;
  if (!isTextOrNull(leafId) || !isTextOrNull(ownRecordId)) return undefined;
  return {
    leafId,
    ownRecordId,
    ...(typeof sinceRecordId === "string" ? { sinceRecordId } : {}),
    ...(typeof deviceId === "string" ? { deviceId } : {}),
  };
}

/** Throws `version_mismatch` for a mark of a later version. */
function readSyncedMark(bytes: Uint8Array | undefined): boolean {
  if (bytes !== undefined && (bytes[0] ?? 0) > syncedVersion)
    throw createNewerVersionError("What this device has had of a session");
  return bytes !== undefined;
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}
