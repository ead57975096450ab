import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { SessionError, type SessionHeader } from "@coppice/core";
import { toFileError } from "./file-errors.ts";
import { readSessionFile } from "./session-file.ts";

/** A session file and what its first line says. */
export interface FoundSessionFile {
  readonly path: string;
  /** In format 3, whatever the file is written in. */
  readonly header: SessionHeader;
  /** The version the file is written in. */
  readonly fileVersion: number;
}

/** A file or folder that was passed over. */
export interface RejectedPath {
  readonly path: string;
  readonly error: SessionError;
}

/** What a folder holds; both lists are sorted by path. */
export interface FoundSessionFiles {
  readonly files: FoundSessionFile[];
  /** `.jsonl` files that are no session or cannot be read, and folders that cannot be looked into. */
  readonly rejected: RejectedPath[];
}

/** How far a search goes. */
export interface FindSessionFilesOptions {
  /** Levels of folders below the given one that are looked into. Default: all. */
  readonly maxDepth?: number;
}

/**
 * Finds the session files below a folder: every `*.jsonl` whose first line is a session header. Only headers are
 * read; a bad file never spoils the rest. Links to folders are not followed, so the search ends. Rejects only when
 * `folder` itself cannot be read: `not_found`, `invalid_session` (a file) or `storage`. Rule JL15.
 */
export async function findSessionFiles(
  folder: string,
  options: FindSessionFilesOptions = {},
): Promise<FoundSessionFiles> {
  const found: FoundSessionFiles = { files: [], rejected: [] };
  await search(folder, found, options.maxDepth ?? Number.POSITIVE_INFINITY);
  const [first] = found.rejected;
  if (first?.path === folder) throw first.error;
  found.files.sort(byPath);
  found.rejected.sort(byPath);
  return found;
}

async function search(folder: string, found: FoundSessionFiles, depth: number): Promise<void> {
  try {
    for (const item of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, item.name);
      if (item.isDirectory()) {
        if (depth > 0) await search(path, found, depth - 1);
      }
      // Only these: opening a pipe would wait for its other end.
      else if (item.name.endsWith(".jsonl") && (item.isFile() || item.isSymbolicLink())) await readHeader(path, found);
    }
  } catch (error) {
    found.rejected.push({ path: folder, error: await toFolderError(error, folder) });
  }
}

async function readHeader(path: string, found: FoundSessionFiles): Promise<void> {
  try {
    const file = await readSessionFile(path);
    await file.close();
    found.files.push({ path, header: file.header, fileVersion: file.report.fileVersion });
  } catch (error) {
    found.rejected.push({ path, error: toFileError(error, path) });
  }
}

async function toFolderError(error: unknown, folder: string): Promise<SessionError> {
  const isFile = await stat(folder).then(
    (stats) => stats.isFile(),
    () => false,
  );
  if (isFile) return new SessionError("invalid_session", `${folder} is a file, not a folder; name a folder to search.`);
  return toFileError(error, folder);
}

function byPath(a: { path: string }, b: { path: string }): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
