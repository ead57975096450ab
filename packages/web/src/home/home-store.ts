import { createNewerVersionError, SessionError } from "@coppice/core";
import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { StoredWorkspace } from "./stored-workspace.ts";

/** What this browser keeps besides the sessions: the workspaces it has joined, and which sessions may have unsent entries. */
export interface HomeStore {
  /** False: it is gone with the page. */
  readonly isDurable: boolean;
  /** The one opened last first. Rejects `version_mismatch` when a newer version of the app wrote one. */
  list(): Promise<StoredWorkspace[]>;
  /** Settles when it is stored. */
  put(workspace: StoredWorkspace): Promise<void>;
  /** Takes a workspace out, with its marks. */
  remove(id: string): Promise<void>;
  /** Ids of sessions of a workspace that were open when nobody knew whether all of them had been sent. */
  listMarks(id: string): Promise<string[]>;
  setMark(id: string, sessionId: string, isMarked: boolean): Promise<void>;
}

const databaseName = "coppice-home";
const databaseVersion = 1;
const recordVersion = 1;

interface HomeSchema extends DBSchema {
  workspaces: { key: string; value: StoredWorkspace };
  marks: { key: [string, string]; value: { workspaceId: string; sessionId: string } };
}

/** Opens the home of this origin, in memory where the browser has no storage. Rejects `version_mismatch`. */
export async function openHomeStore(): Promise<HomeStore> {
  try {
    return new IndexedDbHomeStore(await openDatabase());
  } catch (error) {
    if (error instanceof DOMException && error.name === "VersionError")
      throw createNewerVersionError("What this browser keeps of Coppice");
    // No storage: a private window of some browsers, or a setting. The app says so as long as it is open.
    return new MemoryHomeStore();
  }
}

function openDatabase(): Promise<IDBPDatabase<HomeSchema>> {
  return openDB<HomeSchema>(databaseName, databaseVersion, {
    upgrade: (database) => {
      database.createObjectStore("workspaces", { keyPath: "id" });
      database.createObjectStore("marks", { keyPath: ["workspaceId", "sessionId"] });
    },
    // Another tab wants to delete or to upgrade it; this one goes on with what it has read.
    blocking: (_current, _blocked, event) => (event.target as IDBDatabase).close(),
  });
}

class IndexedDbHomeStore implements HomeStore {
  readonly isDurable = true;
  #database: IDBPDatabase<HomeSchema>;

  constructor(database: IDBPDatabase<HomeSchema>) {
    this.#database = database;
  }

  async list(): Promise<StoredWorkspace[]> {
    return byUse(await this.#use((database) => database.getAll("workspaces")));
  }

  async put(workspace: StoredWorkspace): Promise<void> {
    await this.#use(async (database) => {
      // Strict: the key may be nowhere else in a moment.
      const transaction = database.transaction("workspaces", "readwrite", { durability: "strict" });
      await Promise.all([transaction.store.put(workspace), transaction.done]);
    });
  }

  async remove(id: string): Promise<void> {
    await this.#use(async (database) => {
      const transaction = database.transaction(["workspaces", "marks"], "readwrite", { durability: "strict" });
      await Promise.all([
        transaction.objectStore("workspaces").delete(id),
        transaction.objectStore("marks").delete(marksOf(id)),
        transaction.done,
      ]);
    });
  }

  async listMarks(id: string): Promise<string[]> {
    const marks = await this.#use((database) => database.getAll("marks", marksOf(id)));
    return marks.map(({ sessionId }) => sessionId);
  }

  async setMark(id: string, sessionId: string, isMarked: boolean): Promise<void> {
    await this.#use(async (database) => {
      if (isMarked) await database.put("marks", { workspaceId: id, sessionId });
      else await database.delete("marks", [id, sessionId]);
    });
  }

  /** Browsers close databases of pages that sleep, and when another tab asks for it: then it is opened anew, once. */
  async #use<Value>(use: (database: IDBPDatabase<HomeSchema>) => Promise<Value>): Promise<Value> {
    try {
      return await use(this.#database);
    } catch (error) {
      if (!(error instanceof DOMException) || error.name !== "InvalidStateError") throw toSessionError(error);
    }
    try {
      this.#database = await openDatabase();
      return await use(this.#database);
    } catch (error) {
      throw toSessionError(error);
    }
  }
}

class MemoryHomeStore implements HomeStore {
  readonly isDurable = false;
  readonly #workspaces = new Map<string, StoredWorkspace>();
  readonly #marks = new Map<string, Set<string>>();

  async list(): Promise<StoredWorkspace[]> {
    return byUse([...this.#workspaces.values()]);
  }

  async put(workspace: StoredWorkspace): Promise<void> {
    this.#workspaces.set(workspace.id, workspace);
  }

  async remove(id: string): Promise<void> {
    this.#workspaces.delete(id);
    this.#marks.delete(id);
  }

  async listMarks(id: string): Promise<string[]> {
    return [...(this.#marks.get(id) ?? [])];
  }

  async setMark(id: string, sessionId: string, isMarked: boolean): Promise<void> {
    const marks = this.#marks.get(id) ?? new Set();
    this.#marks.set(id, marks);
    if (isMarked) marks.add(sessionId);
    else marks.delete(sessionId);
  }
}

function byUse(workspaces: StoredWorkspace[]): StoredWorkspace[] {
  if (workspaces.some(({ v }) => v > recordVersion))
    throw createNewerVersionError("A workspace that this browser has joined");
  return workspaces.sort((left, right) => right.openedAt - left.openedAt);
}

function marksOf(id: string): IDBKeyRange {
  return IDBKeyRange.bound([id, ""], [id, []]);
}

function toSessionError(error: unknown): SessionError {
  if (error instanceof SessionError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const isFull = error instanceof DOMException && error.name === "QuotaExceededError";
  return new SessionError(
    isFull ? "storage_full" : "storage",
    `This browser could not keep that: ${reason.replace(/\.$/, "")}.`,
    {
      cause: error,
    },
  );
}
