/** What a device process can be asked to do, and what it answers. All values travel as JSON. */
export interface DeviceCalls {
  open: {
    ask: { home: string; relay?: string; keyHex: string; name: string; sealed?: boolean; copyGraceMs?: number };
    answer: null;
  };
  /** The device as it writes now, and the ids it had before. */
  identity: { ask: null; answer: { id: string; name: string; formerIds: string[] } };
  createSession: { ask: { sessionId: string }; answer: null };
  /** Appends exact JSON texts, each when the one before is on disk. */
  appendLines: { ask: { sessionId: string; lines: string[] }; answer: null };
  /** What a model would be sent, as JSON text. */
  context: { ask: { sessionId: string }; answer: string };
  resume: { ask: { sessionId: string; policy: "own" | "fast-forward" | "latest" }; answer: string };
  importFile: { ask: { path: string }; answer: { sessionId: string; written: number; known: number } };
  listSessions: { ask: null; answer: { id: string; name?: string }[] };
  /** Opens (or finds open) a session and waits until the relay's content is here. */
  attach: { ask: { sessionId: string; timeoutMs: number }; answer: boolean };
  snapshot: { ask: { sessionId: string }; answer: DeviceSnapshot };
  append: { ask: { sessionId: string; text: string }; answer: string };
  appendMany: { ask: { sessionId: string; texts: string[] }; answer: string[] };
  move: { ask: { sessionId: string; entryId: string | null }; answer: null };
  nameSession: { ask: { sessionId: string; name: string }; answer: null };
  label: { ask: { sessionId: string; entryId: string; label: string }; answer: null };
  cursors: { ask: { sessionId: string }; answer: { deviceName?: string; leafId: string | null; self: boolean }[] };
  pending: { ask: { sessionId: string }; answer: { pending: number; unsaved: number; relay: string } };
  waitAcknowledged: { ask: { sessionId: string; timeoutMs: number }; answer: boolean };
  labelOf: { ask: { sessionId: string; entryId: string }; answer: string | null };
  /** This process's clock shows that time and stands still, until it is set again. */
  setClock: { ask: { nowMs: number }; answer: null };
  /** The list as the others must have it too, newest first. */
  listing: { ask: null; answer: ListedSession[] };
  /** Forks a session at an entry; the new session's id. */
  fork: { ask: { sessionId: string; entryId: string }; answer: string };
  renameSession: { ask: { sessionId: string; name: string }; answer: null };
  archive: { ask: { sessionId: string }; answer: null };
  /** The branches that others have added so far, by the workspace's events. */
  branches: { ask: null; answer: AddedBranch[] };
  /** Deletes the session for everybody. */
  deleteSession: { ask: { sessionId: string; timeoutMs: number }; answer: boolean };
  close: { ask: null; answer: null };
}

/** A session in the list of sessions. */
interface ListedSession {
  id: string;
  name?: string;
  archived: boolean;
  parentSession?: string;
}

/** A branch that another device has added. */
export interface AddedBranch {
  sessionId: string;
  entryId: string;
  parentId: string | null;
  deviceName?: string;
}

/** A session as one device sees it. */
export interface DeviceSnapshot {
  /** Exact JSON texts in log order. */
  lines: string[];
  leafId: string | null;
  name?: string;
}
