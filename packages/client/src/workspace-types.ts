import type {
  BatchOptions,
  RefusedLine,
  Session,
  SessionForkOptions,
  SessionMetadata,
  SessionRepo,
  SessionStorage,
  UpdateStore,
} from "@coppice/core";
import type {
  RecordCrypto,
  ResumePlan as StorageResumePlan,
  ResumePolicy as StorageResumePolicy,
  SessionNode as StorageSessionNode,
  SessionTreeView as StorageSessionTreeView,
} from "@coppice/storage-yjs";
import type { NetworkSignal } from "./network-signal.ts";
import type { RandomSource } from "./retry-delay.ts";
import type { SessionLocals } from "./session-locals.ts";
import type { SessionProblem } from "./session-problems.ts";
import type { SyncStatus } from "./sync-status.ts";
import type { TokenSource } from "./token-gate.ts";
import type { SessionHints } from "./workspace-records.ts";

/** One installation that writes: a stable id, a name people see, and whose it is. */
export interface DeviceIdentity {
  /** Stable, unique; a UUIDv7 made once per installation. */
  id: string;
  name: string;
  person?: string;
}

/** A standard WebSocket class: the browser's, or `ws` in Node 20. */
export type WebSocketConstructor = new (url: string | URL, protocols?: string | string[]) => WebSocket;

/** Times of a relay link in ms; the defaults suit real networks. */
export interface RelayLinkTimings {
  /** Longest wait between two attempts to connect. */
  maxReconnectDelayMs: number;
  /** Records unacknowledged, or a relay silent, for this long are sent again or asked; twice as long, and the socket is given up. */
  resendAfterMs: number;
  /** How often a quiet connection compares vectors with the relay. */
  resyncIntervalMs: number;
}

/** Another replica's (or our own) live place in a session. */
export interface SessionCursor {
  readonly deviceId: string;
  readonly replicaId: string;
  readonly deviceName?: string;
  readonly leafId: string | null;
  /** True for this very replica. */
  readonly self: boolean;
  /** True for replicas of this device, this one included. */
  readonly sameDevice: boolean;
  /** The device this replica follows. `leafId` is then its own place still, not what it looks at. */
  readonly following?: string;
  /** True while an agent runs there. */
  readonly running?: boolean;
}

/** Another device has added an entry beside one that was there: the session has a branch more. */
export interface BranchEvent {
  readonly kind: "branch";
  readonly sessionId: string;
  /** The first entry of the branch. */
  readonly entryId: string;
  /** What both go on from, `leaf` and `label` records passed over; null: before the first entry. */
  readonly parentId: string | null;
  readonly deviceId: string;
  /** As the workspace knows it at this moment. */
  readonly deviceName?: string;
}

/** This device has heard that a session was deleted, by whichever device. */
export interface DeletionEvent {
  readonly kind: "deleted";
  readonly sessionId: string;
  /**
   * Records that no relay has acknowledged to this device. They stay here, and `forkSession` makes a new session with
   * them; 0: nothing is lost that was not deleted on purpose.
   */
  readonly unsent: number;
}

/** Where to go on in a session: `own`, `fast-forward` or `latest`, as `@coppice/storage-yjs` describes them. */
export type ResumePolicy = StorageResumePolicy;

/** What resuming a session would do or did. */
export type ResumePlan = StorageResumePlan;

/** A session as the workspace lists it: what all devices agree on, and what this one alone knows of it. */
export interface WorkspaceSession extends SessionMetadata, SessionHints, SessionLocals {
  readonly id: string;
  readonly name?: string;
  /** ISO 8601, from the session's header. */
  readonly createdAt: string;
  /** Id of the session it was forked from. */
  readonly parentSession?: string;
  /** True: put away by somebody; nothing else about it differs. */
  readonly archived: boolean;
  /** True: deleted for everybody; what this device has of it stays here. Such are listed only when asked for. */
  readonly deleted: boolean;
  /**
   * When something last came into it, in ms since 1970, for showing alone: by the relay's clock, or by this device's for
   * what came while it was open here. Absent: nobody has said.
   */
  readonly lastActivityAt?: number;
  /** Of a deleted one: records that are on this device and, as far as it knows, nowhere else. Absent until counted. */
  readonly unsent?: number;
  /** The folder the agent works in on this device; absent where this device has not been told of one. */
  readonly cwd?: string;
  /** Hex id of the room key in use. */
  readonly keyId: string;
  /** Hex ids of the keys it had before, the newest first. */
  readonly olderKeyIds: readonly string[];
  readonly roomId: string;
  /** A newer version of Coppice says something of it that this one cannot read: an upgrade will. */
  readonly needsUpgrade: boolean;
}

/** Which sessions are listed. */
export interface ListSessionsOptions {
  /** True: archived ones alone; false: the others alone. Default: both. */
  readonly archived?: boolean;
  /** True: deleted ones too. Default false. */
  readonly deleted?: boolean;
  /** Only sessions with this folder on this device. */
  readonly cwd?: string;
}

/** What a new session starts from. */
export interface CreateSessionOptions extends SessionHints {
  /** Default: a new UUIDv7. */
  readonly id?: string;
  /** The folder the agent works in: in the session's header, and this device's own folder of it. */
  readonly cwd: string;
  readonly name?: string;
  /** Id of the session it comes from. */
  readonly parentSession?: string;
  readonly metadata?: { [key: string]: unknown };
}

/** What a fork takes over, and what it starts from; the folder, hints and metadata of its source are the default. */
export interface ForkSessionOptions extends SessionForkOptions, Partial<CreateSessionOptions> {}

/** A device that has written to the workspace. */
export interface WorkspaceDevice {
  readonly id: string;
  readonly name: string;
  readonly person?: string;
  /** X25519, 32 bytes, in hex; absent for a device that has not been opened by a version that makes one. */
  readonly publicKey?: string;
  /** True for this very device. */
  readonly isThis: boolean;
  /** True for an id this device had before, which a copy of its folder goes by. */
  readonly isFormer: boolean;
}

/** An imported file's content: exact JSON texts, header first. */
export interface ImportSource {
  /** The header line. */
  headerJson: string;
  /** The entry lines, in file order. */
  lines: Iterable<string> | AsyncIterable<string>;
}

/** How an import is watched and stopped. */
export type ImportOptions = Pick<BatchOptions, "signal" | "onProgress">;

/** What an import did. */
export interface ImportResult {
  readonly session: SharedSession;
  /** Entries written now. */
  readonly written: number;
  /** Entries that were there already, byte for byte or, of a file that pi has migrated, under another id. */
  readonly known: number;
  /** Lines left out because they cannot be entries of a session, in file order. */
  readonly refused: readonly RefusedLine[];
  /** False: it was aborted with lines left; the same import again goes on where this one stopped. */
  readonly isComplete: boolean;
}

/** What is known of an entry without opening its content, as `@coppice/storage-yjs` describes it. */
export type SessionNode = StorageSessionNode;

/** The tree of an open session for looking at, as `@coppice/storage-yjs` describes it. */
export type SessionTreeView = StorageSessionTreeView;

/** What of an open session has changed. */
export type SessionChangeKind = "status" | "cursors" | "entries" | "leaf";

/** One open session of the workspace: storage, `Session`, status and cursors. */
export interface SharedSession {
  readonly id: string;
  readonly roomId: string;
  readonly storage: SessionStorage;
  readonly session: Session;
  /** True once this device has had all of the session, or made it: from then on it has a place in it and may append. */
  readonly hasBeenFetched: boolean;
  /** True from the call of `close` on, whoever closes it: then it is of no use any more, and the workspace opens another. */
  readonly isClosed: boolean;
  /** The tree for looking at, always the one of now and the same object: what is known without opening any content. */
  readonly tree: SessionTreeView;
  /**
   * What this replica looks at, and where its next append goes: its place or, while it follows a device, that one's.
   * null: before the first entry. undefined: it has no place yet (`hasBeenFetched` is false).
   */
  getLeafId(): string | null | undefined;
  /** The id of the device that wrote an entry, and its name when the workspace knows it. */
  getAuthor(entryId: string): { deviceId: string; deviceName?: string } | undefined;
  /** What of the session cannot be shown here and why; empty when all is well. Changes come with `entries`. */
  getProblems(): SessionProblem[];
  /** The leaf this device would continue from; what other processes of the device wrote is included. */
  getDeviceLeafId(): string | null;
  /**
   * What resuming under a policy would do, by what is here now; nothing is written. Throws `not_synced` while this
   * device has no place in the session.
   */
  planResume(policy: ResumePolicy): ResumePlan;
  /**
   * Goes on where the policy says and returns what that was. A move like any other: it leaves a `leaf` entry, so that
   * it survives a restart, and settles when that is on this disk; with nothing to move to, nothing is written. Rejects
   * `invalid_session` while an agent runs here and when the leaf has moved meanwhile, `not_synced` as `planResume`.
   */
  resume(policy: ResumePolicy): Promise<ResumePlan>;
  /**
   * Takes in what other processes of this device have written so far and stands where the device stands now, as a
   * replica does that has just been opened: for a process that stays up and acts for others. Settles when that is so;
   * rejects `storage` when the local log cannot be read, `invalid_session` while an agent runs here.
   */
  standWithDevice(): Promise<void>;
  /** Live cursors, one of each replica, own one included and first. */
  getCursors(): SessionCursor[];
  /**
   * Looks at what a device looks at, from now on, until this replica appends or moves: `getLeafId` and contexts go by
   * it, and an append continues there. Its own place, durable and as others see it, stays what it was; while the device
   * shows no cursor the view stays. Throws `invalid_session` while an agent runs here.
   */
  follow(deviceId: string): void;
  /** Ends following and goes back to the own place. */
  unfollow(): void;
  /** Says whether an agent runs here; others see it. While it does nothing but its own writes moves the leaf. */
  setRunning(isRunning: boolean): void;
  /** What is saved here and what is at the relay, at this moment. */
  status(): SyncStatus;
  /**
   * Calls the listener when something of the session has changed, once per kind: `entries` after the tree has (new
   * entries, what cannot be shown, the place of a new device), `leaf` after `getLeafId` has, `cursors`, and `status`.
   * Nothing is told once the session is closed. Returns the function that stops it.
   */
  subscribe(listener: (change: SessionChangeKind) => void): () => void;
  /**
   * Calls the listener when another device has made the session branch, with all branches of one transaction at once,
   * also of what it wrote while this device was offline. Not for what was there when this device first got the session,
   * nor for what another process wrote before this one opened it. Returns the function that stops it.
   */
  subscribeBranches(listener: (branches: readonly BranchEvent[]) => void): () => void;
  /** True when the relay's content has arrived within `timeoutMs`; false when not (offline, refused, too slow). */
  waitUntilSynced(timeoutMs: number): Promise<boolean>;
  /** True when nothing is pending at the relay within `timeoutMs`. */
  waitUntilAcknowledged(timeoutMs: number): Promise<boolean>;
  /**
   * Compares with the relay now, or tries to reach it, also after it refused: for the moment when an app comes back to
   * the foreground, the network has changed or the user has signed in again. Never more than a few small messages.
   */
  resync(): void;
  /** Settles when everything is on disk; closes the socket. Safe to call twice. */
  close(): Promise<void>;
}

/** What `openWorkspace` needs. */
export interface OpenWorkspaceOptions {
  store: UpdateStore;
  device: DeviceIdentity;
  /** 32 bytes; every room id and first room key is derived from it. The relay never sees it. */
  workspaceKey: Uint8Array;
  /** Address of the relay, `ws://` or `wss://`; absent: offline. */
  relay?: string | undefined;
  /** Default: the global `WebSocket`. Node 20 has none: pass the class of `ws`. */
  webSocket?: WebSocketConstructor;
  /**
   * Gives the token for each new connection, as it is then; it goes to the relay as a websocket subprotocol and is kept
   * nowhere. One that rejects or does not answer is asked again, for ever. Absent: no token.
   */
  token?: TokenSource | undefined;
  /** Tells when this machine has got a network or woken up, which is worth an attempt at once. Default: what a browser tells. */
  networkSignal?: NetworkSignal | undefined;
  /** Spreads attempts to connect in time. Default `Math.random`. */
  random?: RandomSource | undefined;
  /** Whose leaf cursors show: this replica's (default), or the device's durable one (a running `sync`). */
  cursor?: "replica" | "device";
  /** Times of the connections; the defaults suit real networks. */
  timings?: Partial<RelayLinkTimings> | undefined;
  /**
   * True for a process that does one thing and ends: its waits for the relay end as soon as an attempt to connect has
   * failed, instead of trying on until their time is up. Default false.
   */
  endWaitsWhenUnreachable?: boolean;
  /** Seals and deflates records and cursors. Default: pure JavaScript; Node has a faster one, `@coppice/storage-yjs/node`. */
  crypto?: RecordCrypto | undefined;
  /** False makes rooms whose records are not sealed: for tests that show what sealing hides. Default true. */
  sealed?: boolean;
  /**
   * How long, in ms, this replica waits before it takes a new device id when a replica that was opened after it turns
   * out to have the same one from another folder, which should go first. Default 10,000.
   */
  copyGraceMs?: number;
}

/**
 * The synced list of sessions and their keys, and the way to open each. As a `SessionRepo` it gives `Session`s; the
 * methods that end in `Session` give the same with status and cursors. What changes the list settles when that is on
 * this disk, and reaches the other devices when it can.
 */
export interface Workspace extends SessionRepo<WorkspaceSession, CreateSessionOptions, ListSessionsOptions> {
  /**
   * This device as it writes now. It is not the one the workspace was opened with when the folder of the store turned
   * out to be a copy of another device's: then it has an id of its own, and a name that says so.
   */
  readonly device: DeviceIdentity;
  /** Ids this device had before, newest first; empty unless its folder is a copy. */
  readonly formerDeviceIds: readonly string[];
  /** Records of the list that a newer version of Coppice wrote. More than 0: upgrade to see all there is. */
  readonly newerRecords: number;
  /** Opens a listed session as `openSession` does. */
  open(session: Pick<WorkspaceSession, "id">): Promise<Session>;
  /** Does what `forkSession` does. */
  fork(source: Pick<WorkspaceSession, "id">, options?: ForkSessionOptions): Promise<Session>;
  /** Does what `deleteSession` does, without waiting for the relay; one that does not exist is fine. */
  delete(session: Pick<WorkspaceSession, "id">): Promise<void>;
  /** Sessions by creation, newest first. */
  listSessions(options?: ListSessionsOptions): WorkspaceSession[];
  /** Devices in the order in which they first wrote to the workspace. */
  devices(): WorkspaceDevice[];
  /** Names of devices that wrote to the workspace, by id. */
  deviceNames(): ReadonlyMap<string, string>;
  /** Gives this device another name, from now on and for everybody. Blank: `invalid_entry`. */
  renameDevice(name: string): Promise<void>;
  /** Makes a session here and lists it. Rejects `invalid_session` when the id is taken. */
  createSession(options: CreateSessionOptions): Promise<SharedSession>;
  /**
   * Makes a session of a part of another, and lists it; entries keep their ids and texts, and `parentSession` is the
   * source. Rejects `not_found`, `not_synced` while this device has not had all of the source, `invalid_fork_target`.
   */
  forkSession(sessionId: string, options?: ForkSessionOptions): Promise<SharedSession>;
  /**
   * Names a session, for everybody, by a `session_info` in the session itself; blank takes the name away. The session
   * is open afterwards, so that it is sent. Rejects `not_found`, and `not_synced` while this device may not append to it.
   */
  renameSession(sessionId: string, name: string): Promise<SharedSession>;
  /** Puts a session away. Rejects `not_found`. */
  archiveSession(sessionId: string): Promise<void>;
  /** Takes it out again. Rejects `not_found`. */
  unarchiveSession(sessionId: string): Promise<void>;
  /** Says what a session has to do with code; what is absent stays. Passwords are taken out. Rejects `not_found`. */
  setHints(sessionId: string, hints: SessionHints): Promise<void>;
  /** Keeps on this device what a session is to it; what is absent stays. Rejects `not_found`. */
  setLocals(sessionId: string, locals: SessionLocals): Promise<void>;
  /**
   * Gives a session a new random key: whoever has only the older ones reads nothing that is written with it. The room
   * stays, and what is there stays readable; devices that have not heard of it yet go on writing with the key they
   * know. Rejects `not_found`.
   */
  rotateKey(sessionId: string): Promise<void>;
  /**
   * Deletes a session for everybody: it leaves the list for good, and its room at the relay. True when the relay has
   * confirmed that within `timeoutMs`; otherwise it is asked again, also by later processes and by every device that
   * has heard of it, until it has. What devices hold stays with them; of an open session nothing is sent any more.
   * Deleting twice is fine. Rejects `not_found`.
   */
  deleteSession(sessionId: string, timeoutMs: number): Promise<boolean>;
  /** Opens a listed session; the same object while it is open. Rejects `not_found`. */
  openSession(sessionId: string): Promise<SharedSession>;
  /**
   * Takes in a session file's content; entries that are there already are left out, so it may be repeated. A line that
   * cannot be an entry is left out and reported. Rejects `invalid_session` when the header is none; what the store
   * rejects with comes through, and what was taken in by then is kept. A session that was deleted stays so: its file is
   * refused with `invalid_session`.
   */
  importSession(source: ImportSource, options?: ImportOptions): Promise<ImportResult>;
  /**
   * Deletes a session's room at the relay, for everybody and for good: what devices hold stays with them, and none of
   * them can send or fetch it any more (`relay` is `refused`, 4410). True when the relay has confirmed it within
   * `timeoutMs`. Rejects `not_found`.
   */
  deleteRoom(sessionId: string, timeoutMs: number): Promise<boolean>;
  /** The status of the list itself; each session has its own. */
  status(): SyncStatus;
  /** One status for the list and every open session: the worst of each side, the sums of what waits (SPEC SY5). */
  overallStatus(): SyncStatus;
  /** Calls the listener when the list, the status of the list or of an open session, or the device changes. Returns the function that stops it. */
  subscribe(listener: (change: "sessions" | "status" | "device") => void): () => void;
  /**
   * Asks the relay when something last came into the listed sessions, which happens by itself on each connection and for
   * each session that is new in the list. What it says shows in the list, and subscribers hear `sessions`.
   */
  refreshActivity(): void;
  /**
   * Calls the listener once on this device for each session that was deleted, by whichever device. Returns the function
   * that stops it.
   */
  subscribeDeletions(listener: (event: DeletionEvent) => void): () => void;
  /** As of a session, for every session that is open. */
  subscribeBranches(listener: (branches: readonly BranchEvent[]) => void): () => void;
  /** As of a session, for the list: true when what the relay has of it has arrived within `timeoutMs`. */
  waitUntilSynced(timeoutMs: number): Promise<boolean>;
  /** As of a session, for the list: true when nothing of it is pending at the relay within `timeoutMs`. */
  waitUntilAcknowledged(timeoutMs: number): Promise<boolean>;
  /** As of a session, for the list and every open session. */
  resync(): void;
  /**
   * Closes every session that is open or being opened, then the workspace; the store stays the caller's. From the call on
   * none can be opened, created or imported (`closed`). Safe to call twice.
   */
  close(): Promise<void>;
}
