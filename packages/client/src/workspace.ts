import {
  createUuidV7,
  parseHeaderJson,
  readForkLines,
  type Session,
  SessionError,
  type SessionHeader,
} from "@coppice/core";
import {
  deriveDeletionSecret,
  deriveWorkspaceRoom,
  KEY_BYTES,
  type LogRecord,
  pureRecordCrypto,
  type RoomKeys,
} from "@coppice/storage-yjs";
import { toHexString } from "lib0/buffer";
import type * as Y from "yjs";
import { combineStatuses } from "./combine-statuses.ts";
import { CopyWatch } from "./copy-watch.ts";
import { type DeletedSession, DeletedSessions } from "./deleted-sessions.ts";
import { removeCredentials } from "./git-remote.ts";
import { HomeDevice } from "./home-device.ts";
import { HomeReplicas } from "./home-replicas.ts";
import { requireWorkspace } from "./home-workspace.ts";
import { importInto } from "./import-session.ts";
import { platformNetworkSignal } from "./network-signal.ts";
import { openRoom } from "./open-room.ts";
import { OpenSessions } from "./open-sessions.ts";
import { Replica, type ReplicaReader } from "./replica.ts";
import { requestDeletion } from "./request-deletion.ts";
import { RoomActivity } from "./room-activity.ts";
import { SessionList } from "./session-list.ts";
import { type SessionLocals, SessionLocalsKeeper } from "./session-locals.ts";
import { type OpenedSession, openSharedSession } from "./shared-session.ts";
import type { SyncStatus } from "./sync-status.ts";
import { TokenGate } from "./token-gate.ts";
import { nameOf } from "./workspace-listing.ts";
import { WorkspaceLog } from "./workspace-log.ts";
import type { SessionHints, WorkspaceRecord } from "./workspace-records.ts";
import type {
  BranchEvent,
  CreateSessionOptions,
  DeletionEvent,
  DeviceIdentity,
  ForkSessionOptions,
  ImportOptions,
  ImportResult,
  ImportSource,
  ListSessionsOptions,
  OpenWorkspaceOptions,
  SharedSession,
  Workspace,
  WorkspaceDevice,
  WorkspaceSession,
} from "./workspace-types.ts";

const fileFormatVersion = 3;
/** As long as a silent relay is waited for, in ms. */
const tokenTimeoutMs = 9_000;
/** Long enough for the other folder to notice and to tell, in ms. */
const copyGraceMs = 10_000;
/** A relay that has not deleted a room by then is asked again later, in ms. */
const deletionTimeoutMs = 10_000;

/**
 * Opens a workspace on this device: its list from the local store, then the socket to its relay. Settles when the
 * local list is loaded; the relay may be away. Rejects with the store's error when that cannot be read,
 * `wrong_key` when the store belongs to another workspace, `version_mismatch` when a newer version has written there.
 */
export async function openWorkspace(options: OpenWorkspaceOptions): Promise<Workspace> {
  const room = deriveWorkspaceRoom(options.workspaceKey);
  await requireWorkspace(options.store, room.roomId);
  const replicaId = createUuidV7();
  const device = await HomeDevice.open(options.store, options.device);
  const replicas = await HomeReplicas.open(options.store, replicaId);
  const { token, random = Math.random } = options;
  const tokenGate = new TokenGate({ token, random, timeoutMs: tokenTimeoutMs });
  const replica = await openRoom(options, tokenGate, room);
  const locals = new SessionLocalsKeeper(options.store);
  const parts = { room, replica, replicaId, replicas, device, locals, tokenGate };
  const workspace = new OpenedWorkspace(options, parts);
  await replica.attach(workspace);
  await workspace.loadLocals();
  replica.connect();
  workspace.carryOutDeletions();
  return workspace;
}

/** What a workspace is made of when it opens. */
interface WorkspaceParts {
  readonly room: RoomKeys;
  readonly replica: Replica;
  readonly replicaId: string;
  readonly replicas: HomeReplicas;
  readonly device: HomeDevice;
  readonly locals: SessionLocalsKeeper;
  readonly tokenGate: TokenGate;
}

class OpenedWorkspace implements Workspace, ReplicaReader {
  readonly #options: OpenWorkspaceOptions;
  readonly #replica: Replica;
  readonly #log: WorkspaceLog;
  readonly #list: SessionList;
  readonly #locals: SessionLocalsKeeper;
  readonly #replicaId: string;
  readonly #replicas: HomeReplicas;
  readonly #copyWatch: CopyWatch;
  readonly #sessions: OpenSessions;
  readonly #tokenGate: TokenGate;
  readonly #stopNetworkSignal: () => void;
  readonly #deletions: DeletedSessions;
  readonly #device: HomeDevice;
  readonly #activity: RoomActivity;
  #changingIdentity: Promise<void> = Promise.resolve();
  readonly #listeners = new Set<(change: "sessions" | "status" | "device") => void>();
  readonly #deletionListeners = new Set<(event: DeletionEvent) => void>();
  readonly #branchListeners = new Set<(branches: readonly BranchEvent[]) => void>();
  /** False while the log is still being read. */
  #isListening = false;
  #closing: Promise<void> | undefined;

  constructor(options: OpenWorkspaceOptions, parts: WorkspaceParts) {
    const { room, replica, replicaId, replicas, device, locals, tokenGate } = parts;
    this.#options = options;
    this.#device = device;
    this.#replicaId = replicaId;
    this.#replicas = replicas;
    this.#locals = locals;
    this.#copyWatch = new CopyWatch({
      replicaId,
      isRegistered: (id) => replicas.isRegistered(id),
      onCopy: () => this.#changeIdentity(),
      // The store's own failure shows in the status of whoever writes; the next change of the cursor looks again.
      onError: () => undefined,
      graceMs: options.copyGraceMs ?? copyGraceMs,
    });
    this.#replica = replica;
    this.#sessions = new OpenSessions((sessionId, onClosing) => this.#openNow(sessionId, onClosing));
    this.#list = new SessionList({
      workspaceKey: options.workspaceKey,
      locals,
      getListing: () => this.#log.listing,
    });
    const { relay, workspaceKey } = options;
    const webSocket = options.webSocket ?? globalThis.WebSocket;
    this.#deletions = new DeletedSessions({
      store: options.store,
      getDeleted: () => this.#list.deleted(),
      countUnsent: (session) => this.#countUnsent(session),
      requestDeletion:
        relay === undefined
          ? undefined
          : ({ sessionId, roomId }, signal) =>
              requestDeletion({
                url: `${relay}/${roomId}`,
                secret: deriveDeletionSecret(workspaceKey, sessionId),
                webSocket,
                tokenGate,
                timeoutMs: deletionTimeoutMs,
                signal,
              }),
      endWaitsWhenUnreachable: options.endWaitsWhenUnreachable,
      onNoticed: (event) => {
        for (const listener of this.#deletionListeners) listener(event);
        this.#notify("sessions");
      },
    });
    this.#activity = new RoomActivity({
      getRooms: () => this.#list.list().map(({ roomId }) => roomId),
      ask: (rooms) => replica.askHeads(rooms),
      onChange: () => this.#notify("sessions"),
    });
    replica.subscribeHeads((heads) => this.#activity.take(heads));
    this.#log = new WorkspaceLog(replica.doc, {
      keys: this.#isSealed() ? room : undefined,
      crypto: options.crypto,
      deviceId: this.device.id,
      onChange: () => this.#takeListing(),
    });
    this.#isListening = true;
    let wasLive = false;
    replica.subscribe(() => {
      const isLive = replica.status().relay.state === "live";
      if (isLive && !wasLive) {
        this.#deletions.look();
        this.#activity.refresh();
      }
      wasLive = isLive;
      this.#notify("status");
    });
    this.#device.introduce(this.#log);
    this.#tokenGate = tokenGate;
    this.#stopNetworkSignal = (options.networkSignal ?? platformNetworkSignal)(() => this.resync());
  }

  get device(): DeviceIdentity {
    return this.#device.identity;
  }

  get formerDeviceIds(): readonly string[] {
    return this.#device.formerIds;
  }

  get newerRecords(): number {
    return this.#log.listing.newerRecords;
  }

  rebase(doc: Y.Doc, setAside: readonly LogRecord[]): readonly LogRecord[] {
    return this.#log.rebase(doc, setAside);
  }

  listSessions(options?: ListSessionsOptions): WorkspaceSession[] {
    const openedById = new Map(Array.from(this.#sessions.opened, (session) => [session.id, session]));
    return this.#list.list(options).map((session) => {
      const opened = openedById.get(session.id);
      const lastActivityAt = Math.max(this.#activity.updatedAtOf(session.roomId) ?? 0, opened?.lastEntryAt ?? 0);
      // Of an open session the status goes on counting; of another it is what was counted when its deletion was heard of.
      const unsent = opened === undefined ? this.#deletions.unsentOf(session.id) : countWaiting(opened);
      return {
        ...session,
        ...(lastActivityAt === 0 ? {} : { lastActivityAt }),
        ...(session.deleted && unsent !== undefined ? { unsent } : {}),
      };
    });
  }

  devices(): WorkspaceDevice[] {
    return this.#device.listDevices(this.#log);
  }

  deviceNames(): ReadonlyMap<string, string> {
    return new Map([...this.#log.listing.devices.values()].map(({ deviceId, name }) => [deviceId, name]));
  }

  async renameDevice(name: string): Promise<void> {
    await this.#device.rename(name);
    this.#device.introduce(this.#log);
    await this.#replica.flushed();
    this.#notify("device");
  }

  async create(options: CreateSessionOptions): Promise<Session> {
    return (await this.createSession(options)).session;
  }

  async open({ id }: Pick<WorkspaceSession, "id">): Promise<Session> {
    return (await this.openSession(id)).session;
  }

  async list(options?: ListSessionsOptions): Promise<WorkspaceSession[]> {
    return this.listSessions(options);
  }

  async fork({ id }: Pick<WorkspaceSession, "id">, options?: ForkSessionOptions): Promise<Session> {
    return (await this.forkSession(id, options)).session;
  }

  async delete({ id }: Pick<WorkspaceSession, "id">): Promise<void> {
    if (this.#list.find(id) !== undefined) await this.deleteSession(id, 0);
  }

  async createSession(options: CreateSessionOptions): Promise<SharedSession> {
    const session = await this.#make(options);
    if (options.name !== undefined) await session.session.appendSessionName(options.name);
    await this.#listNew(session, options);
    return session;
  }

  async forkSession(sessionId: string, options: ForkSessionOptions = {}): Promise<SharedSession> {
    const { hints, sessionId: parentSession } = this.#list.require(sessionId);
    const { storage, hasBeenFetched } = await this.openSession(sessionId);
    if (!hasBeenFetched)
      throw new SessionError(
        "not_synced",
        `This device has not had all of session ${sessionId} yet; fork it once it has been fetched.`,
      );
    const { cwd, metadata } = await storage.getMetadata();
    const start = {
      ...hints,
      cwd: this.#locals.get(sessionId).cwd ?? cwd ?? "",
      parentSession,
      ...(metadata === undefined ? {} : { metadata }),
      ...options,
    };
    const lines = await readForkLines(storage, options);
    const fork = await this.#make(start);
    await fork.storage.appendBatch(lines);
    if (options.name !== undefined) await fork.session.appendSessionName(options.name);
    await this.#listNew(fork, start);
    return fork;
  }

  openSession(sessionId: string): Promise<OpenedSession> {
    try {
      this.#list.require(sessionId);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#sessions.open(sessionId);
  }

  async renameSession(sessionId: string, name: string): Promise<SharedSession> {
    const session = await this.openSession(sessionId);
    await session.session.appendSessionName(name);
    this.#listName(sessionId, await session.storage.getSessionName());
    await this.#replica.flushed();
    return session;
  }

  archiveSession(sessionId: string): Promise<void> {
    return this.#setArchived(sessionId, true);
  }

  unarchiveSession(sessionId: string): Promise<void> {
    return this.#setArchived(sessionId, false);
  }

  async setHints(sessionId: string, hints: SessionHints): Promise<void> {
    this.#list.require(sessionId);
    await this.#append({ type: "workspace_session_change", sessionId, ...toHints(hints) });
  }

  async setLocals(sessionId: string, locals: SessionLocals): Promise<void> {
    this.#list.require(sessionId);
    await this.#locals.set(sessionId, locals);
    this.#notify("sessions");
  }

  async rotateKey(sessionId: string): Promise<void> {
    this.#list.require(sessionId);
    const key = (this.#options.crypto ?? pureRecordCrypto).randomBytes(KEY_BYTES);
    await this.#append({ type: "workspace_session_key", sessionId, key: toHexString(key) });
  }

  async importSession(source: ImportSource, options: ImportOptions = {}): Promise<ImportResult> {
    const parsed = parseHeaderJson(source.headerJson);
    if (!parsed.ok) throw new SessionError("invalid_session", `This is no session header: ${parsed.error.message}`);
    const header = parsed.value;
    // Throws for one that only a newer version can tell of.
    this.#list.find(header.id);
    if (this.#list.isDeleted(header.id))
      throw new SessionError(
        "invalid_session",
        `Session ${header.id} was deleted from this workspace, for good; give the file's session another id to import it.`,
      );
    const wasOpen = this.#sessions.has(header.id);
    const session = await this.#sessions.open(header.id);
    try {
      const result = await importInto(session, source, options);
      // Listed last: another device that opens it now finds the room complete, or about to be.
      await this.#listNew(session, { cwd: header.cwd });
      return result;
    } catch (error) {
      // Nobody was handed it. What was wrong first is what the caller must hear.
      if (!wasOpen) await Promise.allSettled([session.close()]);
      throw error;
    }
  }

  async deleteSession(sessionId: string, timeoutMs: number): Promise<boolean> {
    const { isDeleted } = this.#list.require(sessionId);
    if (!isDeleted) await this.#append({ type: "workspace_session_deletion", sessionId });
    return this.#deletions.waitUntilConfirmed(sessionId, timeoutMs);
  }

  async deleteRoom(sessionId: string, timeoutMs: number): Promise<boolean> {
    if (this.#list.require(sessionId).isDeleted) return this.#deletions.waitUntilConfirmed(sessionId, timeoutMs);
    const session = await this.openSession(sessionId);
    return session.deleteRoom(deriveDeletionSecret(this.#options.workspaceKey, sessionId), timeoutMs);
  }

  status(): SyncStatus {
    return this.#replica.status();
  }

  overallStatus(): SyncStatus {
    return combineStatuses([this.status(), ...[...this.#sessions.opened].map((session) => session.status())]);
  }

  subscribe(listener: (change: "sessions" | "status" | "device") => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  refreshActivity(): void {
    this.#activity.refresh();
  }

  subscribeDeletions(listener: (event: DeletionEvent) => void): () => void {
    this.#deletionListeners.add(listener);
    return () => this.#deletionListeners.delete(listener);
  }

  subscribeBranches(listener: (branches: readonly BranchEvent[]) => void): () => void {
    this.#branchListeners.add(listener);
    return () => this.#branchListeners.delete(listener);
  }

  waitUntilSynced(timeoutMs: number): Promise<boolean> {
    return this.#replica.waitFor(({ relay }) => relay.state === "live", timeoutMs);
  }

  waitUntilAcknowledged(timeoutMs: number): Promise<boolean> {
    return this.#replica.waitUntilAcknowledged(timeoutMs);
  }

  resync(): void {
    this.#replica.resync();
    for (const session of this.#sessions.opened) session.resync();
  }

  /** Reads what this device alone knows of the sessions that are listed now; true, once the list shows it, when there were new ones. */
  loadLocals(): Promise<boolean> {
    return this.#locals.load(this.#log.listing.sessions.keys());
  }

  /** Begins with what the list says is deleted, and is left to do. */
  carryOutDeletions(): void {
    // In a turn of its own: whoever opens the workspace can subscribe before anything is told.
    setTimeout(() => this.#deletions.look(), 0);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopNetworkSignal();
    const [closed] = await Promise.allSettled([this.#sessions.close()]);
    await this.#deletions.close();
    this.#copyWatch.close();
    await this.#changingIdentity;
    this.#log.close();
    await this.#replica.close();
    // A registration that stays open says nothing wrong: this replica was one of this home.
    await this.#replicas.close().catch(() => undefined);
    if (closed?.status === "rejected") throw closed.reason;
  }

  /** Appends a record of the list; settles when it is durable here. */
  async #append(record: WorkspaceRecord): Promise<void> {
    this.#log.append(record);
    await this.#replica.flushed();
  }

  async #setArchived(sessionId: string, archived: boolean): Promise<void> {
    if (this.#list.require(sessionId).isArchived !== archived)
      await this.#append({ type: "workspace_session_change", sessionId, archived });
  }

  /** A new session that is not listed yet. */
  async #make(options: CreateSessionOptions): Promise<OpenedSession> {
    const { id = createUuidV7(), cwd, parentSession, metadata } = options;
    const header: SessionHeader = {
      type: "session",
      version: fileFormatVersion,
      id,
      timestamp: new Date().toISOString(),
      cwd,
      ...(parentSession === undefined ? {} : { parentSession }),
      ...(metadata === undefined ? {} : { metadata }),
    };
    if (this.#list.find(id) !== undefined)
      throw new SessionError("invalid_session", `Session ${id} exists in this workspace already.`);
    const session = await this.#sessions.open(id);
    await session.create(JSON.stringify(header));
    return session;
  }

  /** Lists a session that is complete here; settles when that is durable. */
  async #listNew(
    { id: sessionId, storage }: OpenedSession,
    { cwd, parentSession, ...hints }: Pick<CreateSessionOptions, "cwd" | "parentSession"> & SessionHints,
  ): Promise<void> {
    await this.#locals.load([sessionId]);
    // Before it is listed: other processes of the home read it then.
    if (this.#locals.get(sessionId).cwd === undefined) await this.#locals.set(sessionId, { cwd });
    const [{ createdAt }, name] = await Promise.all([storage.getMetadata(), storage.getSessionName()]);
    if (this.#list.find(sessionId) !== undefined) this.#listName(sessionId, name);
    else
      this.#log.append({
        type: "workspace_session",
        sessionId,
        createdAt,
        ...(parentSession === undefined ? {} : { parentSession }),
        ...(name === undefined ? {} : { name }),
        ...toHints(hints),
      });
    await this.#replica.flushed();
  }

  async #openNow(sessionId: string, onClosing: (closing: Promise<void>) => void): Promise<OpenedSession> {
    const keys = this.#list.keysOf(sessionId);
    const [room] = keys;
    const replica = await openRoom(this.#options, this.#tokenGate, room);
    try {
      const session: OpenedSession = await openSharedSession({
        id: sessionId,
        replica,
        roomId: room.roomId,
        keys: this.#isSealed() ? keys : undefined,
        crypto: this.#options.crypto,
        store: this.#options.store,
        deviceId: this.device.id,
        formerDeviceIds: this.formerDeviceIds,
        replicaId: this.#replicaId,
        cursor: this.#options.cursor ?? "replica",
        isVisible: this.#replicas.isOpen,
        deviceNames: () => this.deviceNames(),
        onSameDevice: (replicaId, isShown) => {
          // Where nothing is sealed anybody can show any cursor.
          if (this.#isSealed()) void this.#copyWatch.check(replicaId, isShown);
        },
        onBranches: (branches) => {
          for (const listener of this.#branchListeners) listener(branches);
        },
        onNamed: (name) => this.#listName(sessionId, name),
        onClosing: (closing) => {
          if (this.#list.isDeleted(sessionId))
            this.#deletions.noteUnsent({ sessionId, roomId: room.roomId }, countWaiting(session));
          onClosing(closing);
          // It counts in the status of all no longer.
          this.#notify("status");
        },
      });
      session.subscribe((change) => {
        if (change === "status") this.#notify("status");
      });
      // The list may have told of another key meanwhile.
      this.#giveKeys(session);
      if (this.#list.isDeleted(sessionId)) session.leaveDeleted();
      else replica.connect();
      return session;
    } catch (error) {
      // Nobody else holds it. What was wrong first is what the caller must hear.
      await Promise.allSettled([replica.close()]);
      throw error;
    }
  }

  async #countUnsent({ sessionId, roomId }: DeletedSession): Promise<number> {
    for (const session of this.#sessions.opened) if (session.id === sessionId) return countWaiting(session);
    const { store } = this.#options;
    const log = await store.openLog(roomId);
    if (log.lastSeq() === 0) {
      await log.close();
      return 0;
    }
    const replica = await Replica.open({ log, roomId, values: store });
    try {
      return replica.status().pending;
    } finally {
      await replica.close();
    }
  }

  #isSealed(): boolean {
    return this.#options.sealed ?? true;
  }

  #giveKeys(session: OpenedSession): void {
    if (this.#isSealed()) session.takeKeys(this.#list.keysOf(session.id));
  }

  /** The list says something else: open sessions hear of new keys, everybody of the rest. */
  #takeListing(): void {
    if (!this.#isListening) return;
    for (const session of this.#sessions.opened) {
      this.#giveKeys(session);
      session.noticeDeviceNames();
      if (this.#list.isDeleted(session.id)) session.leaveDeleted();
    }
    this.#deletions.look();
    if (this.status().relay.state === "live") this.#activity.look();
    this.#notify("sessions");
    void this.loadLocals().then((isNew) => {
      if (isNew) this.#notify("sessions");
    });
  }

  #listName(sessionId: string, name: string | undefined): void {
    const listed = this.#log.listing.sessions.get(sessionId);
    if (listed?.createdAt === undefined || nameOf(listed) === name) return;
    this.#log.append({ type: "workspace_session_change", sessionId, name: name ?? null });
  }

  /** Another folder has this device's id: what is written from now on is written under a new one (SPEC WS22). */
  #changeIdentity(): Promise<void> {
    const changing = this.#changingIdentity.then(async () => {
      await this.#device.takeNewId();
      const { id } = this.device;
      this.#log.deviceId = id;
      this.#device.introduce(this.#log);
      for await (const session of this.#sessions.all()) session.takeDeviceId(id);
      this.#notify("device");
    });
    this.#changingIdentity = changing.catch(() => undefined);
    return changing;
  }

  #notify(change: "sessions" | "status" | "device"): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** Records of a session that no relay is known to have. */
function countWaiting(session: OpenedSession): number {
  const { pending, unsaved } = session.status();
  return pending + unsaved;
}

/** Hints as they are written: no others' secrets. */
function toHints({ gitRemote, gitCommit }: SessionHints): SessionHints {
  return {
    ...(gitRemote === undefined ? {} : { gitRemote: removeCredentials(gitRemote) }),
    ...(gitCommit === undefined ? {} : { gitCommit }),
  };
}
