import { randomUUID } from "node:crypto";
import { link, mkdir, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { createUuidV7, SessionError } from "@coppice/core";
import { errnoOf, toFileError } from "./file-errors.ts";
import { CURRENT_FILE_VERSION } from "./line-migration.ts";

/** What a new session file says of its session. */
export interface NewSession {
  /** Default: a new UUIDv7. */
  readonly id?: string;
  /** ISO 8601; default now. */
  readonly createdAt?: string;
  /** The folder the agent works in; not empty. */
  readonly cwd: string;
  /** The file this session was forked from. */
  readonly parentSessionPath?: string;
  readonly metadata?: { [key: string]: unknown };
}

/** Lines written at a time, so that a large session needs no second copy in memory. */
const LINES_PER_WRITE = 500;

/** The first line of a session file, without line break. Throws `invalid_session` when a reader would refuse it. */
export function createHeaderJson(session: NewSession, now: () => number = Date.now): string {
  const { id = createUuidV7({ now }), createdAt = new Date(now()).toISOString(), cwd } = session;
  if (id === "" || cwd === "") {
    throw new SessionError("invalid_session", "A session file needs an id and a cwd that are not empty; give both.");
  }
  return JSON.stringify({
    type: "session",
    version: CURRENT_FILE_VERSION,
    id,
    timestamp: createdAt,
    cwd,
    parentSession: session.parentSessionPath,
    metadata: session.metadata,
  });
}

/**
 * Writes a new session file and settles when it is durable: its bytes and its name in the folder, which is made when
 * missing. Rejects with `storage` when a file of that name exists, and leaves nothing behind when it fails.
 */
export async function createSessionFile(path: string, headerJson: string, entryJsons: Iterable<string>): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(path, "wx");
    try {
      let lines = [headerJson];
      for (const json of entryJsons) {
        if (lines.push(json) < LINES_PER_WRITE) continue;
        await file.writeFile(toText(lines));
        lines = [];
      }
      await file.writeFile(toText(lines));
      await file.sync();
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    await syncFolder(dirname(path));
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw toFileError(error, path);
    throw new SessionError("storage", `${path} exists already; open it, or choose another name.`, { cause: error });
  }
}

/**
 * Puts a new session file in its place whole: a crash leaves all of it or nothing under its name. Settles with true when it
 * is durable, with false when a file of that name exists. Rejects `storage` or `storage_full`.
 */
export async function placeSessionFile(
  path: string,
  headerJson: string,
  entryJsons: Iterable<string>,
): Promise<boolean> {
  // Not `.jsonl`: whoever lists sessions meanwhile passes it over.
  const draft = `${path}.${randomUUID()}.new`;
  try {
    await createSessionFile(draft, headerJson, entryJsons);
    // Unlike a rename this takes nobody's place.
    await link(draft, path);
    await syncFolder(dirname(path));
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw toFileError(error, path);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Makes the names in a folder durable, where the system offers it. */
async function syncFolder(folder: string): Promise<void> {
  // Windows opens no folders; its file systems write names down by themselves.
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function toText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}
