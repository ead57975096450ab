import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { SessionError } from "@coppice/core";
import { describeFileError, readErrorCode } from "@coppice/home";
import { piFileName, piSessionPath } from "@coppice/storage-jsonl";

/** Where pi keeps its sessions on this device. */
export interface PiSessionsFolder {
  /** Absolute. */
  readonly path: string;
  /** True: all in it, as pi does in a folder that its settings name. False: in a folder for each cwd. */
  readonly isFlat: boolean;
}

/**
 * Finds pi's sessions folder for a cwd as pi does: `PI_CODING_AGENT_SESSION_DIR`, else `sessionDir` of the project's or
 * the user's settings, else `sessions` in `PI_CODING_AGENT_DIR` (`~/.pi/agent`). Rejects `storage` when settings cannot
 * be read.
 */
export async function findPiSessionsFolder(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<PiSessionsFolder> {
  const agentFolder = resolve(cwd, expandTilde(env.PI_CODING_AGENT_DIR || join("~", ".pi", "agent")));
  const chosen =
    env.PI_CODING_AGENT_SESSION_DIR ||
    (await readSessionDir(join(cwd, ".pi", "settings.json"))) ||
    (await readSessionDir(join(agentFolder, "settings.json")));
  if (chosen) return { path: resolve(cwd, expandTilde(chosen)), isFlat: true };
  return { path: join(agentFolder, "sessions"), isFlat: false };
}

/** Where pi would put the file of a session of a cwd. */
export function choosePiFile(
  folder: PiSessionsFolder,
  cwd: string,
  session: { readonly createdAt: string; readonly id: string },
): string {
  if (folder.isFlat) return join(folder.path, piFileName(session.createdAt, session.id));
  return piSessionPath(folder.path, cwd, session.createdAt, session.id);
}

async function readSessionDir(settingsPath: string): Promise<string | undefined> {
  try {
    const { sessionDir } = JSON.parse(await readFile(settingsPath, "utf8")) ?? {};
    return typeof sessionDir === "string" ? sessionDir : undefined;
  } catch (error) {
    if (readErrorCode(error) === "ENOENT" || readErrorCode(error) === "ENOTDIR") return undefined;
    throw new SessionError("storage", `${describeFileError("read", settingsPath, error)}.`, { cause: error });
  }
}

function expandTilde(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}
