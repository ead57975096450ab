import {
  createUuidV7,
  parseEntryJson,
  parseHeaderJson,
  type RefusedLine,
  SessionError,
  type SessionHeader,
} from "@coppice/core";
import {
  deriveDeletionSecret,
  deriveRoomKeys,
  deriveWorkspaceRoom,
  type LogRecord,
  type RoomKeys,
} from "@coppice/storage-yjs";
import { toHexString } from "lib0/buffer";
import type * as Y from "yjs";
import { combineStatuses } from "./combine-statuses.ts";
import { CopyWatch } from "./copy-watch.ts";
import { type HomeIdentity, readHomeIdentity, takeNewIdentity } from "./home-identity.ts";
import { HomeReplicas } from "./home-replicas.ts";
import { Replica, type ReplicaReader } from "./replica.ts";
import { type OpenedSession, openSharedSession } from "./shared-session.ts";
import type { SyncStatus } from "./sync-status.ts";
import { WorkspaceLog, type WorkspaceSessionRecord } from "./workspace-log.ts";
import type {
  CreateSessionOptions,
  DeviceIdentity,
  ImportOptions,
  ImportResult,
  ImportSource,
  OpenWorkspaceOptions,
  SharedSession,
  Workspace,
  WorkspaceSession,
} from "./workspace-types.ts";

const fileFormatVersion = 3;
/** Long enough for the other folder to notice and to tell, in ms. */
const copyGraceMs = 10_000;

/**
 * Opens a workspace on this device: its list from the local store, then the socket to its relay. Settles when the
 * local list is loaded; the relay may be away. Rejects with the store's error when that cannot be read.
 */
export async function openWorkspace(options: OpenWorkspaceOptions): Promise<Workspace> {
  const room = deriveWorkspaceRoom(options.workspaceKey);
  const replicaId = createUuidV7();
  const identity = await readHomeIdentity(options.store, options.device);
  const replicas = await HomeReplicas.open(options.store, replicaId);
  const replica = await openRoom(options, room);
  const workspace = new OpenedWorkspace(options, { room, replica, replicaId, replicas, identity });
  await replica.attach(workspace);
  replica.connect();
  return workspace;
}

/** Value of this device in the store, per room. */
const arrivalsKey = (roomId: string): string => `arrivals/${roomId}`;

async function openRoom(options: OpenWorkspaceOptions, room: RoomKeys): Promise<Replica> {
  return Replica.open({
    log: await options.store.openLog(room.roomId),
    roomId: room.roomId,
    arrivals: {
      read: () => options.store.readValue(arrivalsKey(room.roomId)),
      write: (arrivals) => options.store.writeValue(arrivalsKey(room.roomId), arrivals),
    },
    values: options.store,
    relay: options.relay,
    webSocket: options.webSocket,
    timings: options.timings,
    endWaitsWhenUnreachable: options.endWaitsWhenUnreachable ?? false,
  });
}

/** What a workspace is made of when it opens. */
interface WorkspaceParts {
  readonly room: RoomKeys;
  readonly replica: Replica;
  readonly replicaId: string;
  readonly replicas: HomeReplicas;
  readonly identity: HomeIdentity;
}

class OpenedWorkspace implements Workspace, ReplicaReader {
  readonly #options: OpenWorkspaceOptions;
  readonly #replica: Replica;
  readonly #log: WorkspaceLog;
  readonly #replicaId: string;
  readonly #replicas: HomeReplicas;
  readonly #copyWatch: CopyWatch;
  #identity: HomeIdentity;
  #changingIdentity: Promise<void> = Promise.resolve();
  readonly #listeners = new Set<(change: "sessions" | "status" | "device") => void>();
  readonly #openedById = new Map<string, Promise<OpenedSession>>();
  readonly #closingById = new Map<string, Promise<void>>();
  /** Those that are open by now. */
  readonly #sessions = new Set<OpenedSession>();
  #closing: Promise<void> | undefined;

  constructor(options: OpenWorkspaceOptions, { room, replica, replicaId, replicas, identity }: WorkspaceParts) {
    this.#options = options;
    this.#identity = identity;
    this.#replicaId = replicaId;
    this.#replicas = replicas;
    this.#copyWatch = new CopyWatch({
      replicaId,
      isRegistered: (id) => replicas.isRegistered(id),
      onCopy: () => this.#changeIdentity(),
      // The store's own failure shows in the status of whoever writes; the next change of the cursor looks again.
      onError: () => undefined,
      graceMs: options.copyGraceMs ?? copyGraceMs,
    });
    this.#replica = replica;
    this.#log = new WorkspaceLog(replica.doc, {
      keys: this.#isSealed() ? room : undefined,
      crypto: options.crypto,
      deviceId: this.device.id,
      onChange: () => this.#notify("sessions"),
    });
    replica.subscribe(() => this.#notify("status"));
    this.#introduceDevice();
  }

  get device(): DeviceIdentity {
    return this.#identity.device;
  }

  get formerDeviceIds(): readonly string[] {
    return this.#identity.formerIds;
  }

  rebase(doc: Y.Doc, setAside: readonly LogRecord[]): readonly LogRecord[] {
    return this.#log.rebase(doc, setAside);
  }

  listSessions(): WorkspaceSession[] {
    return [...this.#log.sessions().values()]
      .map((record) => this.#toListing(record))
      .sort((left, right) => (left.createdAt < right.createdAt ? 1 : left.createdAt > right.createdAt ? -1 : 0));
  }

  deviceNames(): ReadonlyMap<string, string> {
    return new Map([...this.#log.devices().values()].map(({ deviceId, name }) => [deviceId, name]));
  }

  async createSession(options: CreateSessionOptions): Promise<SharedSession> {
    const header: SessionHeader = {
      type: "session",
      version: fileFormatVersion,
      id: options.id ?? createUuidV7(),
      timestamp: new Date().toISOString(),
      cwd: options.cwd,
      ...(options.parentSession === undefined ? {} : { parentSession: options.parentSession }),
      ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
    };
    if (this.#log.sessions().has(header.id))
      throw new SessionError("invalid_session", `Session ${header.id} exists in this workspace already.`);
    const session = await this.#open(header.id);
    await session.create(JSON.stringify(header));
    if (options.name !== undefined) await session.session.appendSessionName(options.name);
    await this.#list(header, options.name);
    return session;
  }

  openSession(sessionId: string): Promise<OpenedSession> {
    if (!this.#log.sessions().has(sessionId))
      return Promise.reject(new SessionError("not_found", `This workspace has no session ${sessionId}.`));
    return this.#open(sessionId);
  }

  async importSession(source: ImportSource, options: ImportOptions = {}): Promise<ImportResult> {
    const parsed = parseHeaderJson(source.headerJson);
    if (!parsed.ok) throw new SessionError("invalid_session", `This is no session header: ${parsed.error.message}`);
    const header = parsed.value;
    const wasOpen = this.#openedById.has(header.id);
    const session = await this.#open(header.id);
    try {
      const isNewHere = !session.hasBeenFetched;
      // New, or known from another device's list only: the file brings the whole tree, so there is nothing to wait for.
      if (isNewHere) await session.create(source.headerJson);
      const leafBefore = session.storage.getReplicaLeaf();
      const refused: RefusedLine[] = [];
      let lastLine: string | undefined;
      const readLines = async function* (): AsyncGenerator<string> {
        for await (const line of source.lines) {
          lastLine = line;
          yield line;
        }
      };
      const { written, known, isComplete } = await session.storage.appendBatch(readLines(), {
        ...options,
        // One line that is no entry must not keep the others out.
        onRefused: (line) => refused.push(line),
      });
      if (!isNewHere) {
        if (written > 0) await keepOwnBranch(session, leafBefore);
      } else if (isComplete && lastLine !== undefined) await standAtEnd(session, lastLine);
      // Listed last: another device that opens it now finds the room complete, or about to be.
      await this.#list(header, await session.storage.getSessionName());
      return { session, written, known, refused, isComplete };
    } catch (error) {
      // Nobody was handed it. What was wrong first is what the caller must hear.
      if (!wasOpen) await Promise.allSettled([session.close()]);
      throw error;
    }
  }

  async deleteRoom(sessionId: string, timeoutMs: number): Promise<boolean> {
    const session = await this.openSession(sessionId);
    return session.deleteRoom(deriveDeletionSecret(this.#options.workspaceKey, sessionId), timeoutMs);
  }

  status(): SyncStatus {
    return this.#replica.status();
  }

  overallStatus(): SyncStatus {
    return combineStatuses([this.status(), ...[...this.#sessions].map((session) => session.status())]);
  }

  subscribe(listener: (change: "sessions" | "status" | "device") => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  waitUntilSynced(timeoutMs: number): Promise<boolean> {
    return this.#replica.waitFor(({ relay }) => relay.state === "live", timeoutMs);
  }

  waitUntilAcknowledged(timeoutMs: number): Promise<boolean> {
    return this.#replica.waitUntilAcknowledged(timeoutMs);
  }

  resync(): void {
    this.#replica.resync();
    for (const opening of this.#openedById.values())
      opening.then(
        (session) => session.resync(),
        // Whoever opens it hears of that.
        () => undefined,
      );
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = await Promise.allSettled(
      [...this.#openedById.values()].map(async (opening) => {
        // One that could not be opened has nothing to close, and whoever opens it hears of that.
        const session = await opening.catch(() => undefined);
        await session?.close();
      }),
    );
    this.#copyWatch.close();
    await this.#changingIdentity;
    this.#log.close();
    await this.#replica.close();
    // A registration that stays open says nothing wrong: this replica was one of this home.
    await this.#replicas.close().catch(() => undefined);
    const failed = closed.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  /** Settles when the listing is durable here. */
  async #list(header: SessionHeader, name: string | undefined): Promise<void> {
    if (this.#log.sessions().has(header.id)) this.#listName(header.id, name);
    else
      this.#log.append({
        type: "workspace_session",
        sessionId: header.id,
        createdAt: header.timestamp,
        cwd: header.cwd,
        keyId: toHexString(this.#roomOf(header.id).keyId),
        ...(name === undefined ? {} : { name }),
      });
    await this.#replica.flushed();
  }

  /** The session while it is open; one that is being closed is opened anew once its log is free. */
  #open(sessionId: string): Promise<OpenedSession> {
    if (this.#closing !== undefined)
      // Nobody would close it: its socket would keep the process alive.
      return Promise.reject(new SessionError("closed", "The workspace is closed; open it again to open a session."));
    const open = this.#openedById.get(sessionId);
    if (open !== undefined) return open;
    const opening = Promise.resolve(this.#closingById.get(sessionId)).then(() => this.#openNow(sessionId));
    this.#openedById.set(sessionId, opening);
    opening.catch(() => this.#openedById.delete(sessionId));
    return opening;
  }

  #forgetClosing(sessionId: string, closing: Promise<void>): void {
    this.#openedById.delete(sessionId);
    const closed = closing
      // Whoever closes hears of a failure; who opens again only waits for the end.
      .catch(() => undefined)
      .then(() => {
        if (this.#closingById.get(sessionId) === closed) this.#closingById.delete(sessionId);
      });
    this.#closingById.set(sessionId, closed);
  }

  async #openNow(sessionId: string): Promise<OpenedSession> {
    const room = this.#roomOf(sessionId);
    const replica = await openRoom(this.#options, room);
    try {
      const session: OpenedSession = await openSharedSession({
        id: sessionId,
        replica,
        roomId: room.roomId,
        keys: this.#isSealed() ? room : undefined,
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
        onNamed: (name) => this.#listName(sessionId, name),
        onClosing: (closing) => {
          this.#sessions.delete(session);
          this.#forgetClosing(sessionId, closing);
        },
      });
      this.#sessions.add(session);
      session.subscribe((change) => {
        if (change === "status") this.#notify("status");
      });
      replica.connect();
      return session;
    } catch (error) {
      // Nobody else holds it. What was wrong first is what the caller must hear.
      await Promise.allSettled([replica.close()]);
      throw error;
    }
  }

  /** Keys that rotate or come by a link will be read from the session's record; the first one is always derived. */
  #roomOf(sessionId: string): RoomKeys {
    return deriveRoomKeys(this.#options.workspaceKey, sessionId);
  }

  #isSealed(): boolean {
    return this.#options.sealed ?? true;
  }

  #toListing(record: WorkspaceSessionRecord): WorkspaceSession {
    return {
      id: record.sessionId,
      createdAt: record.createdAt,
      cwd: record.cwd,
      keyId: record.keyId,
      roomId: this.#roomOf(record.sessionId).roomId,
      ...(record.name === undefined ? {} : { name: record.name }),
    };
  }

  #listName(sessionId: string, name: string | undefined): void {
    const listed = this.#log.sessions().get(sessionId);
    if (listed === undefined || listed.name === name) return;
    const { name: _old, ...rest } = listed;
    this.#log.append(name === undefined ? rest : { ...rest, name });
  }

  /** Another folder has this device's id: what is written from now on is written under a new one (SPEC WS22). */
  #changeIdentity(): Promise<void> {
    const changing = this.#changingIdentity.then(async () => {
      this.#identity = await takeNewIdentity(this.#options.store, this.#options.device, this.#identity);
      const { id } = this.device;
      this.#log.deviceId = id;
      this.#introduceDevice();
      for (const opening of this.#openedById.values()) {
        // One that could not be opened has nobody who writes.
        const session = await opening.catch(() => undefined);
        session?.takeDeviceId(id);
      }
      this.#notify("device");
    });
    this.#changingIdentity = changing.catch(() => undefined);
    return changing;
  }

  #introduceDevice(): void {
    const { id, name, person } = this.device;
    const known = this.#log.devices().get(id);
    if (known?.name === name && known.person === person) return;
    this.#log.append({ type: "workspace_device", deviceId: id, name, ...(person === undefined ? {} : { person }) });
  }

  #notify(change: "sessions" | "status" | "device"): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/**
 * A session that an import brought to this device is gone on with where the file ends. Another device that imports the
 * file at the same moment may have written any part of it first, so this device's own last record does not tell. A last
 * line that is no entry of the session says nothing. No move is written: the log stays that of the file.
 */
async function standAtEnd(session: OpenedSession, lastLine: string): Promise<void> {
  const parsed = parseEntryJson(lastLine);
  if (!parsed.ok) return;
  const entry = parsed.value;
  const end = entry.type === "leaf" ? entry.targetId : entry.id;
  const { storage } = session;
  if (end === (await storage.getLeafId())) return;
  if (end === null || (await storage.getEntry(end)) !== undefined) await session.standAt(end);
}

/**
 * An import brings entries in; it is no reason to leave one's place. Where the file goes on from there the leaf follows,
 * otherwise it is moved back (SPEC WS12).
 */
async function keepOwnBranch({ storage, session }: OpenedSession, leafBefore: string | null): Promise<void> {
  if (leafBefore === null) return;
  const path = await storage.getPathToRoot(await storage.getLeafId());
  if (!path.some(({ id }) => id === leafBefore)) await session.moveTo(leafBefore);
}
