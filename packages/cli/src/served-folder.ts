/**
 * Two relays on one folder would not see what the other accepts, so a relay leaves its address in the folder it serves.
 * The file may be left over from one that was killed; what counts is whether something answers at the address.
 */
import { readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { SessionError } from "@coppice/core";
import { readErrorCode } from "@coppice/home";

/** Rejects `storage` when a relay serves the folder already. */
export async function refuseServedFolder(folder: string): Promise<void> {
  const url = await readAddress(folder);
  if (url === undefined || !URL.canParse(url) || !(await isAnswering(new URL(url)))) return;
  throw new SessionError(
    "storage",
    `A relay serves ${folder} already, at ${url}; use that one, or choose another folder with --data.`,
  );
}

/** Leaves the address of the relay that serves the folder. */
export async function markServed(folder: string, url: string): Promise<void> {
  await writeFile(addressFileOf(folder), url);
}

/** Takes the address away when the relay has ended. */
export async function unmarkServed(folder: string): Promise<void> {
  await rm(addressFileOf(folder), { force: true });
}

function addressFileOf(folder: string): string {
  return join(folder, "address");
}

async function readAddress(folder: string): Promise<string | undefined> {
  try {
    return await readFile(addressFileOf(folder), "utf8");
  } catch (error) {
    if (readErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function isAnswering({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    // An IPv6 address stands in brackets in a URL, and without them everywhere else.
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) });
    const finish = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once("connect", () => finish(true));
    socket.once("error", () => finish(false));
  });
}
