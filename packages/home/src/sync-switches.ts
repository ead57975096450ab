/**
 * Which of pi's sessions are shared. Nothing is unless somebody has said so, on this device: for one session, or for all
 * whose folder is in a project. One file for each switch, so that two processes that set different ones never meet.
 */
import { dirname, join, resolve } from "node:path";
import { SessionError } from "@coppice/core";
import { hashName, piFolderOf } from "./pi-files.ts";
import { damagedFile, type PrivateFields, readPrivateJson, writePrivateJson } from "./private-file.ts";

/** Of the form of a switch's file. */
const switchVersion = 1;

/** A session as a switch is looked up for it. */
export interface SwitchedSession {
  readonly sessionId: string;
  /** The folder pi works in; absolute. */
  readonly cwd: string;
}

/** What is in force for a session, and who says so. */
export interface SwitchState {
  readonly sync: boolean;
  /** `default`: nobody has said anything, so it is not shared. */
  readonly from: "session" | "project" | "default";
  /** The folder of the project, when it is that which says so. */
  readonly project?: string;
}

/** The switches of one home. Reading is quick enough for a prompt, and opens no database. SPEC HM1-HM3. */
export class SyncSwitches {
  readonly #folder: string;

  /** Reads and writes nothing yet. */
  constructor(homeFolder: string) {
    this.#folder = piFolderOf(homeFolder);
  }

  /**
   * What is in force for a session: its own switch, else that of the nearest folder from `cwd` upwards that has one,
   * else off. Throws `version_mismatch` when the file that decides is of a newer version, `storage` when it cannot be
   * read: nothing may be shared on a guess.
   */
  read({ sessionId, cwd }: SwitchedSession): SwitchState {
    const own = this.readSession(sessionId);
    if (own !== undefined) return { sync: own, from: "session" };
    for (let folder = resolve(cwd); ; folder = dirname(folder)) {
      const sync = this.readProject(folder);
      if (sync !== undefined) return { sync, from: "project", project: folder };
      if (dirname(folder) === folder) return { sync: false, from: "default" };
    }
  }

  /** What a session's own switch says, undefined when it has none. Throws as `read`. */
  readSession(sessionId: string): boolean | undefined {
    return readSwitch(this.#sessionFile(sessionId), "sessionId", sessionId);
  }

  /** What the switch of exactly this folder says, undefined when it has none. Throws as `read`. */
  readProject(folder: string): boolean | undefined {
    return readSwitch(this.#projectFile(folder), "folder", resolve(folder));
  }

  /** Switches a session on or off; on the disk when it returns. Throws `storage`, and `version_mismatch` as `read`. */
  setSession(sessionId: string, sync: boolean): void {
    writeSwitch(this.#sessionFile(sessionId), { version: switchVersion, sessionId, sync });
  }

  /** As `setSession`, for all sessions in a folder and below it that have no switch of their own. */
  setProject(folder: string, sync: boolean): void {
    writeSwitch(this.#projectFile(folder), { version: switchVersion, folder: resolve(folder), sync });
  }

  #sessionFile(sessionId: string): string {
    return join(this.#folder, "sessions", `${hashName(sessionId)}.json`);
  }

  #projectFile(folder: string): string {
    return join(this.#folder, "projects", `${hashName(resolve(folder))}.json`);
  }
}

function readSwitch(path: string, subject: string, expected: string): boolean | undefined {
  const fields = readPrivateJson(path, switchVersion);
  if (fields === undefined) return undefined;
  if (fields[subject] !== expected || typeof fields.sync !== "boolean") throw damagedFile(path);
  return fields.sync;
}

function writeSwitch(path: string, fields: PrivateFields): void {
  refuseNewer(path);
  writePrivateJson(path, fields);
}

/** What a newer version has written is not overwritten; anything else that cannot be read gives way. */
function refuseNewer(path: string): void {
  try {
    readPrivateJson(path, switchVersion);
  } catch (error) {
    if (error instanceof SessionError && error.code === "version_mismatch") throw error;
  }
}
