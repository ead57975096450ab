import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

const privateFolderMode = 0o700;

/**
 * Makes a folder, and those above it that are missing, from the top; all of mode 700; settles with whether it
 * made any. What is there already stays as it is, also what another process makes meanwhile. Rejects with the file system's own error, `ENOTDIR` when a file has the
 * name. In place of Node's recursive `mkdir`, which never returns where the system refuses a step with `ENOENT` although
 * the folder above is there, as in `/proc`.
 */
export async function makeFolder(folder: string): Promise<boolean> {
  const missing: string[] = [];
  for (let path = folder; !(await isFolder(path)); path = dirname(path)) missing.push(path);
  for (const path of missing.reverse()) {
    try {
      await mkdir(path, { mode: privateFolderMode });
    } catch (error) {
      if (!hasCode(error, "EEXIST") || !(await isFolder(path))) throw error;
    }
  }
  return missing.length > 0;
}

/** False when there is nothing of the name. Rejects with `ENOTDIR` when it is a file. */
async function isFolder(path: string): Promise<boolean> {
  try {
    if ((await stat(path)).isDirectory()) return true;
  } catch (error) {
    // The root is always there.
    if (hasCode(error, "ENOENT") && dirname(path) !== path) return false;
    throw error;
  }
  throw Object.assign(new Error(`${path} is a file`), { code: "ENOTDIR" });
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
