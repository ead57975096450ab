/** Where what was appended here stands on this device. */
export type LocalStatus =
  /** Everything appended here is on this device's disk. */
  | { readonly state: "saved" }
  | { readonly state: "saving" }
  /** The local log cannot be written, or not be read; both are tried again, in order, until they succeed. */
  | { readonly state: "failed"; readonly cause: "write" | "read"; readonly reason: string };

/** Where a replica stands towards the relay, by what the relay has said and not by a socket being open. */
export type RelayStatus =
  /** No relay was given, or it cannot be reached at the moment (`reason`), which is tried again by itself. */
  | { readonly state: "offline"; readonly reason?: string }
  /** An attempt is on its way that is the first one or was asked for; the relay has not said anything yet. */
  | { readonly state: "connecting" }
  /** Of `total` records that the relay has and we lacked, `arrived` have come; 0 of 0 while their number is unknown. */
  | { readonly state: "catching-up"; readonly arrived: number; readonly total: number }
  /** Everything the relay had has arrived, and what it gets arrives; what is made here may be on its way to it. */
  | { readonly state: "live" }
  /**
   * The relay does not take us, or what we have: a close code and its reason. `unauthorised` (4401) means "sign in
   * again" and is tried again by itself, now and then; everything else only when somebody asks (`resync`).
   */
  | { readonly state: "refused"; readonly code: number; readonly reason: string }
  /** This program or the relay speaks too old a version of the protocol; the reason says which. */
  | { readonly state: "too-old"; readonly reason: string };

/** What is known of a replica without counting; see `SyncStatus` for the fields. */
export interface SyncState {
  readonly local: LocalStatus;
  readonly relay: RelayStatus;
  readonly unsaved: number;
  readonly lastAcknowledgedAt?: number;
  readonly notice?: { readonly code: number; readonly reason: string };
}

/** What is known about one open session or a workspace's list: of durable writes and acknowledgements (SPEC SY). */
export interface SyncStatus extends SyncState {
  /** Records appended here that are not on this device's disk yet. */
  readonly unsaved: number;
  /** Records in the durable local log that no checked acknowledgement of the relay covers (SPEC CL5). */
  readonly pending: number;
  /** When the relay last acknowledged records of ours since opening, in ms since 1970 by this device's clock; for display only. */
  readonly lastAcknowledgedAt?: number;
  /** Something sent was not taken, and the relay stays: its code and reason, until nothing is pending again. */
  readonly notice?: { readonly code: number; readonly reason: string };
  /**
   * Records that had to give way, since opening, because the relay has somebody else's at their places: written again,
   * or kept aside on this device because they could not be read.
   */
  readonly setAside?: { readonly restored: number; readonly unreadable: number };
}

/** What happens to the local log; `unsaved` as in `SyncStatus`. */
export type LocalEvent =
  | { readonly type: "counted"; readonly unsaved: number }
  | { readonly type: "writeFailed"; readonly reason: string }
  | { readonly type: "writeWorks" }
  | { readonly type: "readFailed"; readonly reason: string }
  | { readonly type: "readWorks" };

/** What happens between a replica and its relay. */
export type RelayEvent =
  /** An attempt begins that somebody waits for: the first one, or one that was asked for. */
  | { readonly type: "connect" }
  /** The relay has told what it holds, or more of it has come; not everything yet. */
  | { readonly type: "progress"; readonly arrived: number; readonly total: number }
  | { readonly type: "caughtUp" }
  /** The connection ended or none came about; another attempt follows by itself. */
  | { readonly type: "lost"; readonly reason: string }
  | { readonly type: "refused"; readonly code: number; readonly reason: string }
  | { readonly type: "tooOld"; readonly reason: string }
  /** This replica leaves the relay. */
  | { readonly type: "disconnect" };

/** What is told besides; it changes neither of the two. */
export type NewsEvent =
  | { readonly type: "notice"; readonly code: number; readonly reason: string }
  /** The relay has acknowledged records of ours at this time; `pending` are left. */
  | { readonly type: "acknowledged"; readonly at: number; readonly pending: number };

/** Everything that can happen. */
export type SyncEvent = LocalEvent | RelayEvent | NewsEvent;

/** A replica that has just been opened. */
export const openedState: SyncState = Object.freeze({
  local: Object.freeze({ state: "saved" }),
  relay: Object.freeze({ state: "offline" }),
  unsaved: 0,
});

/** "counted": `saved` when nothing is unsaved, else `saving`. */
type LocalTarget = "counted" | "write failed" | "read failed" | "stays";

/** SPEC SY2. */
const localTable: Readonly<Record<LocalRow, Readonly<Record<LocalEvent["type"], LocalTarget>>>> = {
  saved: {
    counted: "counted",
    writeFailed: "write failed",
    writeWorks: "counted",
    readFailed: "read failed",
    readWorks: "counted",
  },
  saving: {
    counted: "counted",
    writeFailed: "write failed",
    writeWorks: "counted",
    readFailed: "read failed",
    readWorks: "counted",
  },
  "write failed": {
    counted: "stays",
    writeFailed: "write failed",
    writeWorks: "counted",
    // Whoever cannot write either is told again by the next attempt to read.
    readFailed: "stays",
    readWorks: "stays",
  },
  "read failed": {
    counted: "stays",
    writeFailed: "write failed",
    writeWorks: "stays",
    readFailed: "read failed",
    readWorks: "counted",
  },
};

type LocalRow = "saved" | "saving" | "write failed" | "read failed";

/** SPEC SY3. */
const relayTable: Readonly<Record<RelayStatus["state"], Readonly<Record<RelayEvent["type"], RelayStatus["state"]>>>> = {
  offline: {
    connect: "connecting",
    progress: "catching-up",
    caughtUp: "live",
    lost: "offline",
    refused: "refused",
    tooOld: "too-old",
    disconnect: "offline",
  },
  connecting: {
    connect: "connecting",
    progress: "catching-up",
    caughtUp: "live",
    lost: "offline",
    refused: "refused",
    tooOld: "too-old",
    disconnect: "offline",
  },
  "catching-up": {
    connect: "catching-up",
    progress: "catching-up",
    caughtUp: "live",
    lost: "offline",
    refused: "refused",
    tooOld: "too-old",
    disconnect: "offline",
  },
  live: {
    connect: "live",
    progress: "catching-up",
    caughtUp: "live",
    lost: "offline",
    refused: "refused",
    tooOld: "too-old",
    disconnect: "offline",
  },
  refused: {
    connect: "connecting",
    progress: "catching-up",
    caughtUp: "live",
    // An attempt after "sign in again" that did not get through: what counts is what was met last.
    lost: "offline",
    refused: "refused",
    tooOld: "too-old",
    disconnect: "offline",
  },
  "too-old": {
    connect: "connecting",
    progress: "catching-up",
    caughtUp: "live",
    // No attempt follows by itself.
    lost: "too-old",
    refused: "refused",
    tooOld: "too-old",
    disconnect: "offline",
  },
};

/**
 * The state after an event: a new frozen object, or the same one when nothing has changed. Everything a status says of a
 * replica is decided here; sockets, timers and logs only tell what happened.
 */
export function nextSyncState(state: SyncState, event: SyncEvent): SyncState {
  switch (event.type) {
    case "notice":
      return freezeState({ ...state, notice: Object.freeze({ code: event.code, reason: event.reason }) });
    case "acknowledged": {
      const { notice, ...rest } = state;
      const isOutdated = notice === undefined || event.pending === 0;
      return freezeState({ ...rest, lastAcknowledgedAt: event.at, ...(isOutdated ? {} : { notice }) });
    }
    case "counted":
    case "writeFailed":
    case "writeWorks":
    case "readFailed":
    case "readWorks": {
      const unsaved = event.type === "counted" ? event.unsaved : state.unsaved;
      const local = nextLocal(state.local, event, unsaved);
      return local === state.local && unsaved === state.unsaved ? state : freezeState({ ...state, local, unsaved });
    }
    default: {
      const relay = nextRelay(state.relay, event);
      return relay === state.relay ? state : freezeState({ ...state, relay });
    }
  }
}

function nextLocal(local: LocalStatus, event: LocalEvent, unsaved: number): LocalStatus {
  const row = local.state === "failed" ? (`${local.cause} failed` as const) : local.state;
  const target = localTable[row][event.type];
  if (target === "stays") return local;
  const next: LocalStatus =
    "reason" in event
      ? { state: "failed", cause: event.type === "writeFailed" ? "write" : "read", reason: event.reason }
      : { state: unsaved === 0 ? "saved" : "saving" };
  return isEqual(local, next) ? local : Object.freeze(next);
}

function nextRelay(relay: RelayStatus, event: RelayEvent): RelayStatus {
  const next = toRelayStatus(event);
  const target = relayTable[relay.state][event.type];
  return target !== next.state || isEqual(relay, next) ? relay : Object.freeze(next);
}

/** What an event leads to where the table does not keep the state as it is. */
function toRelayStatus(event: RelayEvent): RelayStatus {
  switch (event.type) {
    case "connect":
      return { state: "connecting" };
    case "progress":
      return { state: "catching-up", arrived: event.arrived, total: event.total };
    case "caughtUp":
      return { state: "live" };
    case "lost":
      return { state: "offline", reason: event.reason };
    case "refused":
      return { state: "refused", code: event.code, reason: event.reason };
    case "tooOld":
      return { state: "too-old", reason: event.reason };
    case "disconnect":
      return { state: "offline" };
  }
}

/** Equality of two flat objects made by this file, whose fields stand in the same order. */
function isEqual(left: LocalStatus | RelayStatus, right: LocalStatus | RelayStatus): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function freezeState(state: SyncState): SyncState {
  return Object.freeze(state);
}
