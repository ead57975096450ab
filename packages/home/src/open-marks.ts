/**
 * Which processes of this machine have a session open in pi. pi itself says nothing when two write to one file, and
 * each then goes on without the other's entries; a mark lets the second one be warned. A mark counts while its process
 * runs, so one that was left by a crash needs no cleaning up.
 */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { SessionError } from "@coppice/core";
import { describeFileError, readErrorCode } from "./file-errors.ts";
import { hashName, piFolderOf } from "./pi-files.ts";
import { type PrivateFields, readPrivateJson, writePrivateJson } from "./private-file.ts";

/** Of the form of a mark's file. */
const markVersion = 1;
const markName = /^([1-9][0-9]*)\.json$/;

/** A process that has a session open. */
export interface OpenMark {
  readonly pid: number;
  readonly sessionId: string;
  /** The session file it reads and appends to; absolute. */
  readonly file: string;
  /** ISO 8601, by this machine's clock. */
  readonly startedAt: string;
}

/** What marks are judged by; the process's own by default. */
export interface OpenMarksOptions {
  /** Whether a process runs. */
  readonly isRunning?: (pid: number) => boolean;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** The marks of one home. All of it is quick and opens no database. SPEC HM4. */
export class OpenMarks {
  readonly #folder: string;
  readonly #isRunning: (pid: number) => boolean;
  readonly #now: () => number;

  /** Reads and writes nothing yet. */
  constructor(homeFolder: string, { isRunning = isProcessRunning, now = Date.now }: OpenMarksOptions = {}) {
    this.#folder = join(piFolderOf(homeFolder), "open");
    this.#isRunning = isRunning;
    this.#now = now;
  }

  /** Says that a process (default: this one) has a session open, in place of what it said before. Throws `storage`. */
  add(sessionId: string, file: string, pid: number = process.pid): OpenMark {
    const mark: OpenMark = { pid, sessionId, file, startedAt: new Date(this.#now()).toISOString() };
    writePrivateJson(join(this.#folderOf(sessionId), `${pid}.json`), { version: markVersion, ...mark });
    return mark;
  }

  /** Takes the mark of a process (default: this one) away; one that is not there is fine. Throws `storage`. */
  remove(sessionId: string, pid: number = process.pid): void {
    const path = join(this.#folderOf(sessionId), `${pid}.json`);
    try {
      // Its folder stays: another process may be about to put its own mark there.
      rmSync(path, { force: true });
    } catch (error) {
      throw new SessionError("storage", `${describeFileError("remove", path, error)}.`, { cause: error });
    }
  }

  /**
   * The processes that have a session open, the earliest first, this one included. Marks of processes that are gone are
   * removed on the way; one that a newer version wrote, and that cannot be read here, is left out. Throws `storage`.
   */
  list(sessionId: string): OpenMark[] {
    const marks: OpenMark[] = [];
    for (const name of this.#namesOf(sessionId)) {
      const pid = Number(markName.exec(name)?.[1]);
      if (Number.isNaN(pid)) continue;
      if (!this.#isRunning(pid)) {
        this.remove(sessionId, pid);
        continue;
      }
      const mark = readMark(join(this.#folderOf(sessionId), name));
      if (mark?.pid === pid && mark.sessionId === sessionId) marks.push(mark);
    }
    return marks.sort((one, other) => (one.startedAt < other.startedAt ? -1 : 1));
  }

  #namesOf(sessionId: string): string[] {
    const folder = this.#folderOf(sessionId);
    try {
      return readdirSync(folder);
    } catch (error) {
      if (readErrorCode(error) === "ENOENT") return [];
      throw new SessionError("storage", `${describeFileError("read", folder, error)}.`, { cause: error });
    }
  }

  #folderOf(sessionId: string): string {
    return join(this.#folder, hashName(sessionId));
  }
}

/** Marks only warn: what is not one is passed over, whoever wrote it. */
function readMark(path: string): OpenMark | undefined {
  let fields: PrivateFields | undefined;
  try {
    fields = readPrivateJson(path, markVersion);
  } catch (error) {
    if (error instanceof SessionError) return undefined;
    throw error;
  }
  const { pid, sessionId, file, startedAt } = fields ?? {};
  if (typeof pid !== "number" || typeof sessionId !== "string") return undefined;
  if (typeof file !== "string" || typeof startedAt !== "string") return undefined;
  return { pid, sessionId, file, startedAt };
}

function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs, for another user.
    return readErrorCode(error) === "EPERM";
  }
}
