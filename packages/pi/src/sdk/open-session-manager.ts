/**
 * A SessionManager of pi's SDK (1.6) on a session of a workspace. pi has no interface for other stores, but it hands
 * every append to one public method and every move to two; those are replaced on a manager that pi itself has made from
 * the session's entries. What it cannot do stands in this package's README.
 */
import type { SharedSession } from "@coppice/client";
import { SessionError } from "@coppice/core";
import { exportForPi } from "@coppice/storage-jsonl";
import type { FileEntry, SessionManager } from "@earendil-works/pi-coding-agent";
import { SessionWriter } from "./session-writer.ts";

/** The part of pi's class that is needed: `SessionManager` of `@earendil-works/pi-coding-agent`. */
export type SessionManagerClass = Pick<typeof SessionManager, "inMemory">;

/** How a session is given to pi. */
export interface OpenSessionManagerOptions {
  /** The folder pi works in. Default: this device's folder of the session, else the one in its header. */
  readonly cwd?: string;
  /** Called once, with what the first write failed with, as soon as it has. */
  readonly onError?: (error: unknown) => void;
}

/** A session as pi's SDK takes it. */
export interface OpenedSessionManager {
  /** For `createAgentSession({ sessionManager })`. */
  readonly sessionManager: SessionManager;
  /**
   * Settles when everything pi has appended so far, and where it stands, is on this disk. Rejects with what a write
   * failed with; pi's next append throws the same, so that it does not go on with what nobody keeps.
   */
  settled(): Promise<void>;
}

/**
 * Opens a session of a workspace for pi's SDK: with all its entries under their ids, at the place where this replica
 * stands. What pi appends goes into the session as the exact texts pi would write to a file, in its order; where it moves,
 * the session moves. The class is the caller's, so that there is one copy of pi. Rejects `not_synced` while this device
 * may not append to the session, and as `getEntries` and `getLeafId`. Rules EX80-EX84.
 */
export async function openSessionManager(
  SessionManagerOfPi: SessionManagerClass,
  shared: SharedSession,
  options: OpenSessionManagerOptions = {},
): Promise<OpenedSessionManager> {
  if (!shared.hasBeenFetched) {
    throw new SessionError(
      "not_synced",
      `Session ${shared.id} has not been fetched yet; waitUntilSynced tells when it has.`,
    );
  }
  const { storage } = shared;
  const leafId = await storage.getLeafId();
  const [header, ...entries] = await readForPi(shared);
  const { cwd = (await storage.getMetadata()).cwd, onError = () => undefined } = options;
  const sessionManager = SessionManagerOfPi.inMemory(cwd, { id: shared.id }, [header as FileEntry, ...entries]);
  if (leafId === null) sessionManager.resetLeaf();
  else sessionManager.branch(leafId);
  const writer = new SessionWriter(shared, onError);
  replaceMethods(sessionManager, shared.id, writer);
  return { sessionManager, settled: () => writer.settled() };
}

/** Header and entries as pi reads them from a file, without the entry that only tells a file's reader where to stand. */
async function readForPi({ storage }: SharedSession): Promise<FileEntry[]> {
  const read: FileEntry[] = [];
  for await (const line of exportForPi(storage)) {
    const entry: FileEntry = JSON.parse(line);
    if (read.length === 0 || (await storage.getEntry(entry.id)) !== undefined) read.push(entry);
  }
  return read;
}

function replaceMethods(manager: SessionManager, sessionId: string, writer: SessionWriter): void {
  const { branch, resetLeaf } = manager;
  // What throws here, pi takes back from its memory.
  manager._persist = (entry) => writer.append(JSON.stringify(entry));
  manager.branch = (entryId) => {
    branch.call(manager, entryId);
    writer.moveTo(entryId);
  };
  manager.resetLeaf = () => {
    resetLeaf.call(manager);
    writer.moveTo(null);
  };
  // These make another session of the same object; its entries would go into this one.
  const refuse = (what: string, instead: string) => (): never => {
    throw new SessionError(
      "invalid_session",
      `This manager belongs to session ${sessionId} of a workspace and cannot ${what}. ${instead}`,
    );
  };
  const openAnother = "Open that session with openSessionManager and make an agent session of it.";
  manager.newSession = refuse("begin a new one", openAnother);
  manager.setSessionFile = refuse("go over to a file", openAnother);
  manager.createBranchedSession = refuse("become a fork", `Use Workspace.forkSession. ${openAnother}`);
}
