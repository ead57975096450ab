import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { SessionError } from "@coppice/core";
import { findSessionFiles } from "./find-session-files.ts";

/** The name of a session's file, as pi gives it. `createdAt` is ISO 8601. */
export function piFileName(createdAt: string, sessionId: string): string {
  return `${createdAt.replace(/[:.]/g, "-")}_${sessionId}.jsonl`;
}

/** The folder, below pi's sessions folder, with the sessions of a folder. */
export function piFolderName(cwd: string): string {
  return `--${cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`;
}

/** Where pi keeps a session of a folder: `SESSIONS/--CWD--/CREATED_ID.jsonl`. */
export function piSessionPath(sessionsFolder: string, cwd: string, createdAt: string, sessionId: string): string {
  return join(sessionsFolder, piFolderName(cwd), piFileName(createdAt, sessionId));
}

/**
 * The file of a session in a folder of pi's or one level below it, by what the headers say; of several the one that was
 * written to last. Undefined when there is none. Rejects `storage` when the folder cannot be read.
 */
export async function findPiFile(sessionsFolder: string, sessionId: string): Promise<string | undefined> {
  const { files } = await findSessionFiles(sessionsFolder, { maxDepth: 1 }).catch((error: unknown) => {
    // pi has made none yet.
    if (error instanceof SessionError && error.code === "not_found") return { files: [] };
    throw error;
  });
  const found = await Promise.all(
    files
      .filter(({ header }) => header.id === sessionId)
      .map(async ({ path }) => ({ path, mtimeMs: (await stat(path)).mtimeMs })),
  );
  found.sort((one, other) => other.mtimeMs - one.mtimeMs || (basename(one.path) < basename(other.path) ? 1 : -1));
  return found[0]?.path;
}
