import { randomBytes } from "node:crypto";
import { lstat, mkdtemp, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { readErrorCode } from "@coppice/home";

/*
 * The address on which the running `sync` of a home listens stands in a file of the home. Each `sync` listens on an
 * address of its own, so that one which takes over never shares a name with one that is about to end; what counts is
 * whether something answers.
 */

/** What the systems take for the path of a Unix domain socket, in bytes (macOS 104 with its end, Linux 108). */
const maxSocketPathBytes = 103;

const privateFileMode = 0o600;
const socketPrefix = "coppice-sync-";
const pipePrefix = "\\\\.\\pipe\\";

/** The file of a home that says where its running `sync` listens. */
function addressFileOf(homeFolder: string): string {
  return join(homeFolder, "sync-address");
}

/** What tells a folder from a copy of it, which has the same files. */
async function identifyFolder(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  return `${dev}:${ino}`;
}

/**
 * Where the running `sync` of a home says it listens; undefined when it says nothing. What came with a copied folder
 * speaks of the other home.
 */
export async function readSyncAddress(homeFolder: string): Promise<string | undefined> {
  try {
    const [address, home] = (await readFile(addressFileOf(homeFolder), "utf8")).split("\n");
    return home === (await identifyFolder(homeFolder)) ? address : undefined;
  } catch (error) {
    // Unreadable or not there: the command acts by itself, and says what is wrong with the home if it is that.
    if (readErrorCode(error) === undefined) throw error;
    return undefined;
  }
}

/** Says where `sync` listens from now on (mode 600). Rejects as the file system does. */
export async function writeSyncAddress(homeFolder: string, address: string): Promise<void> {
  const path = addressFileOf(homeFolder);
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(draft, `${address}\n${await identifyFolder(homeFolder)}\n`, { mode: privateFileMode, flag: "wx" });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Takes the address away, if it is this one still. */
export async function removeSyncAddress(homeFolder: string, address: string): Promise<void> {
  if ((await readSyncAddress(homeFolder)) === address) await rm(addressFileOf(homeFolder), { force: true });
}

/**
 * Addresses to listen on, the best first: in the home, as long as its path is short enough for a socket, then in a
 * folder of its own (mode 700) in the temporary folder. On Windows a named pipe nobody can guess.
 */
export async function* proposeAddresses(homeFolder: string, platform: NodeJS.Platform): AsyncGenerator<string> {
  const name = randomBytes(16).toString("hex");
  if (platform === "win32") {
    yield `${pipePrefix}${socketPrefix}${name}`;
    return;
  }
  const inHome = join(homeFolder, `sync-${name.slice(0, 8)}.socket`);
  if (Buffer.byteLength(inHome) <= maxSocketPathBytes) yield inHome;
  const folder = await mkdtemp(join(tmpdir(), socketPrefix));
  const inTemp = join(folder, "socket");
  if (Buffer.byteLength(inTemp) <= maxSocketPathBytes) yield inTemp;
  await rmdir(folder);
}

/** Removes the socket that a `sync` left at an address, and the folder made for it. Nothing that is not ours is touched. */
export async function removeSocket(homeFolder: string, address: string): Promise<void> {
  if (address.startsWith(pipePrefix) || resolve(address) !== address) return;
  const folder = dirname(address);
  const isInHome = folder === homeFolder && /^sync-[0-9a-f]+\.socket$/.test(basename(address));
  const isInTemp = dirname(folder) === tmpdir() && basename(folder).startsWith(socketPrefix);
  if (!isInHome && !isInTemp) return;
  const isSocket = await lstat(address).then(
    (stats) => stats.isSocket(),
    // Gone already, as when a server was closed.
    (error) => readErrorCode(error) === "ENOENT",
  );
  if (!isSocket) return;
  await rm(address, { force: true });
  // Not recursively: a folder that holds anything else is not ours.
  if (!isInHome) await rmdir(folder).catch(() => undefined);
}

/** Connects to an address; undefined when nothing listens there. */
export function connectTo(address: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(address);
    const fail = (): void => resolve(undefined);
    socket.once("error", fail);
    socket.once("connect", () => {
      socket.off("error", fail);
      resolve(socket);
    });
  });
}
