import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { openWorkspace, parsePairingLink, type WebSocketConstructor, type Workspace } from "@coppice/client";
import { SessionError } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import { WebSocket } from "ws";

/** A home that the engine has open. */
export interface OpenedPiHome {
  readonly workspace: Workspace;
  /** Address of the relay. */
  readonly relay: string | undefined;
  close(): Promise<void>;
}

/** Opens the home's store and workspace. Rejects `not_found` when the folder has none. */
export async function openPiHome(folder: string): Promise<OpenedPiHome> {
  const link = await readFile(join(folder, "workspace-link"), "utf8").catch(() => undefined);
  if (link === undefined)
    throw new SessionError("not_found", `there is no workspace in ${folder} yet; /coppice pair makes or joins one`);
  const device = JSON.parse(await readFile(join(folder, "device.json"), "utf8"));
  const { relay, workspaceKey } = parsePairingLink(link.trim());
  const store = await openLmdbStore({ path: join(folder, "store") });
  const workspace = await openWorkspace({
    store,
    device: { id: device.id, name: device.name },
    workspaceKey,
    relay,
    webSocket: WebSocket as unknown as WebSocketConstructor,
    crypto: nodeRecordCrypto,
    endWaitsWhenUnreachable: true,
  });
  return {
    workspace,
    relay,
    close: async () => {
      await workspace.close();
      await store.close();
    },
  };
}

/** What a folder has to do with a repository; empty outside of one. */
export async function readGitHints(cwd: string): Promise<{ gitRemote?: string; gitCommit?: string }> {
  const git = async (...args: string[]) =>
    promisify(execFile)("git", args, { cwd }).then(
      ({ stdout }) => stdout.trim(),
      () => undefined,
    );
  const [gitRemote, gitCommit] = await Promise.all([git("config", "remote.origin.url"), git("rev-parse", "HEAD")]);
  return { ...(gitRemote ? { gitRemote } : {}), ...(gitCommit ? { gitCommit } : {}) };
}
