/** Small files of a home that only this user may read, written whole or not at all. Synchronous, and without a database. */
import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { createNewerVersionError, SessionError } from "@coppice/core";
import { describeFileError, readErrorCode } from "./file-errors.ts";

const privateFileMode = 0o600;
const privateFolderMode = 0o700;
/** Folders of ours above the deepest one: `pi/open/HASH`. */
const ownFolderDepth = 2;

/** The fields of such a file. */
export type PrivateFields = Readonly<Record<string, unknown>>;

/**
 * Puts a file in place of the one there is (mode 600, its folders mode 700): whoever reads it sees the old content or
 * the new one. On the disk when it returns. The home itself must be there. Throws `storage` when it cannot be written.
 */
export function writePrivateJson(path: string, fields: PrivateFields): void {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    makeFolders(dirname(path));
    const file = openSync(draft, "wx", privateFileMode);
    try {
      writeSync(file, `${JSON.stringify(fields)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw new SessionError("storage", `${describeFileError("write", path, error)}.`, { cause: error });
  }
}

/**
 * The fields of such a file, undefined when there is none. Throws `version_mismatch` when `version` is greater than the
 * known one, `storage` when it cannot be read or is no JSON object.
 */
export function readPrivateJson(path: string, knownVersion: number): PrivateFields | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const code = readErrorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new SessionError("storage", `${describeFileError("read", path, error)}.`, { cause: error });
  }
  const fields = parseObject(text);
  if (fields === undefined) throw damagedFile(path);
  if (typeof fields.version === "number" && fields.version > knownVersion)
    throw createNewerVersionError(`The file ${path}`);
  return fields;
}

/** The error for a file whose fields are not what they should be. */
export function damagedFile(path: string): SessionError {
  return new SessionError("storage", `The file ${path} is damaged; remove it, and say again what it said.`);
}

function parseObject(text: string): PrivateFields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as PrivateFields) : undefined;
  } catch {
    // Told by who asks.
    return undefined;
  }
}

/** Makes a folder and those of ours above it. Not Node's recursive `mkdir`: where a system refuses a step it may never return. */
function makeFolders(folder: string, mostAbove = ownFolderDepth): void {
  try {
    mkdirSync(folder, { mode: privateFolderMode });
  } catch (error) {
    const code = readErrorCode(error);
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || mostAbove === 0) throw error;
    makeFolders(dirname(folder), mostAbove - 1);
    makeFolders(folder, 0);
  }
}
