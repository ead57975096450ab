import { access, constants, open, readFile, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { DeviceIdentity, PairingInvitation } from "@coppice/client";
import { createNewerVersionError, SessionError } from "@coppice/core";
import { describeFileError, readErrorCode } from "./file-errors.ts";

/** What a home folder holds besides its store: who this device is and which workspace it belongs to. */
export interface Home {
  /** Absolute path. */
  readonly folder: string;
  readonly device: DeviceIdentity;
  readonly workspaceKey: Uint8Array;
  /** `ws://` or `wss://`; absent for a workspace without a relay. */
  readonly relay?: string;
}

/** Where the platform's folders are looked up; the process's own values by default. */
export interface HomeSurroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** The user's home directory. */
  readonly userFolder: string;
}

const homeOption = "--home or COPPICE_HOME";
const privateFileMode = 0o600;
/** Of the form of `device.json`; without one it is 1. */
const deviceFileVersion = 1;

/**
 * The home folder in force: `--home`, else `COPPICE_HOME`, else the platform's data folder. Absolute; nothing is made.
 */
export function findHomeFolder(option: string | undefined, { env, platform, userFolder }: HomeSurroundings): string {
  const chosen = option || env.COPPICE_HOME;
  if (chosen) return resolve(chosen);
  if (platform === "darwin") return join(userFolder, "Library", "Application Support", "coppice");
  if (platform === "win32") return join(env.LOCALAPPDATA || join(userFolder, "AppData", "Local"), "coppice");
  // The XDG specification has relative values ignored.
  const dataFolder = env.XDG_DATA_HOME?.startsWith("/") ? env.XDG_DATA_HOME : join(userFolder, ".local", "share");
  return join(dataFolder, "coppice");
}

/** The folder of the store with the device's local logs, inside a home. */
export function storeFolderOf(homeFolder: string): string {
  return join(homeFolder, "store");
}

/** Reads a home. Rejects `not_found` when the folder has none yet, `storage` when its files cannot be read. */
export async function readHome(folder: string): Promise<Home> {
  const home = await findHome(folder);
  if (home !== undefined) return home;
  throw new SessionError(
    "not_found",
    `There is no workspace in ${folder} yet; run \`coppice init\` with the relay's address, or with the link that \`coppice link\` prints on another device.`,
  );
}

/** Reads a home, or settles with undefined when the folder has none yet. Rejects `storage` when it cannot be read. */
export async function findHome(folder: string): Promise<Home | undefined> {
  const linkText = await readText(linkFileOf(folder));
  if (linkText === undefined) return undefined;
  const device = await readDevice(folder);
  if (device === undefined) throw damaged(deviceFileOf(folder), "it is missing");
  let invitation: PairingInvitation;
  const { parsePairingLink } = await loadClient();
  try {
    invitation = parsePairingLink(linkText.trim());
  } catch (error) {
    if (error instanceof SessionError && error.code === "version_mismatch")
      throw createNewerVersionError(`The file ${linkFileOf(folder)}`);
    throw damaged(linkFileOf(folder), "it holds no complete link", error);
  }
  return { folder, device, ...invitation };
}

/**
 * Makes a home: folder (mode 700), device identity and workspace link (mode 600). A device identity that an earlier,
 * interrupted attempt left is kept. Rejects `storage` when the folder cannot be written or a home is there already.
 */
export async function createHome(folder: string, device: DeviceIdentity, workspace: PairingInvitation): Promise<Home> {
  try {
    await makeFolder(folder);
    const known = await readDevice(folder);
    if (known === undefined)
      await writeNew(deviceFileOf(folder), `${JSON.stringify({ v: deviceFileVersion, ...device }, null, 2)}\n`);
    const { formatPairingLink } = await loadClient();
    // Last: a folder with this file is a home.
    await writeNew(linkFileOf(folder), `${formatPairingLink(workspace)}\n`);
    return { folder, device: known ?? device, ...workspace };
  } catch (error) {
    throw unwritable(folder, error);
  }
}

/** Gives a home without a relay the address of one. Rejects `storage` when the folder cannot be written. */
export async function attachRelay(home: Home, relay: string): Promise<Home> {
  const changed: Home = { ...home, relay };
  const path = linkFileOf(home.folder);
  try {
    const { formatPairingLink } = await loadClient();
    // Written beside and renamed, so that the key is never half written.
    await writeFile(`${path}.new`, `${formatPairingLink(changed)}\n`, { mode: privateFileMode });
    await rename(`${path}.new`, path);
  } catch (error) {
    throw unwritable(home.folder, error);
  }
  return changed;
}

/**
 * Makes a folder (mode 700) and checks that this user may write into it. Databases need that even for reading, and
 * what they say when it fails helps nobody. Rejects `storage`; the message names the option that chooses another.
 */
export async function ensureWritableFolder(folder: string, option: string = homeOption): Promise<void> {
  try {
    await makeFolder(folder);
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unwritable(folder, error, option);
  }
}

/** Loaded when it is needed: `coppice --help` needs no database. */
async function makeFolder(folder: string): Promise<void> {
  const { makeFolder: make } = await import("@coppice/persist-lmdb");
  await make(folder);
}

/** Loaded when a home is read: where it is must be known also to commands that a running `sync` does. */
function loadClient(): Promise<typeof import("@coppice/client")> {
  return import("@coppice/client");
}

function deviceFileOf(folder: string): string {
  return join(folder, "device.json");
}

function linkFileOf(folder: string): string {
  return join(folder, "workspace-link");
}

async function readDevice(folder: string): Promise<DeviceIdentity | undefined> {
  const text = await readText(deviceFileOf(folder));
  if (text === undefined) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw damaged(deviceFileOf(folder), "it is not JSON", error);
  }
  const { v, id, name, person } = (parsed ?? {}) as { [field: string]: unknown };
  if (typeof v === "number" && v > deviceFileVersion) throw createNewerVersionError(`The file ${deviceFileOf(folder)}`);
  if (typeof id !== "string" || id === "" || typeof name !== "string")
    throw damaged(deviceFileOf(folder), "it names no device");
  return { id, name, ...(typeof person === "string" ? { person } : {}) };
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (readErrorCode(error) === "ENOENT") return undefined;
    throw new SessionError("storage", describeFileError("read", path, error), { cause: error });
  }
}

/** Writes a file that must not exist yet, and waits until it is on the disk. */
async function writeNew(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", privateFileMode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

function unwritable(folder: string, cause: unknown, option: string = homeOption): SessionError {
  if (cause instanceof SessionError) return cause;
  return new SessionError(
    "storage",
    `${describeFileError("write to", folder, cause)}; choose another folder with ${option}.`,
    { cause },
  );
}

function damaged(path: string, why: string, cause?: unknown): SessionError {
  return new SessionError(
    "storage",
    `The file ${path} is damaged: ${why}; put it back from a copy, or choose another folder with --home.`,
    { cause },
  );
}
