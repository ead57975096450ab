import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorkspace, type SharedSession, type WebSocketConstructor, type Workspace } from "@coppice/client";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";

const workspaceKey: Uint8Array = new Uint8Array(32).fill(3);

async function openStore() {
  const folder = await mkdtemp(join(tmpdir(), "coppice-react-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const store = await openLmdbStore({ path: folder });
  onTestFinished(() => store.close());
  return store;
}

/** A device of the workspace on a disk of its own; without a relay alone. */
export async function openDevice(name: string, relay?: string): Promise<Workspace> {
  const workspace = await openWorkspace({
    store: await openStore(),
    device: { id: `id-${name}`, name },
    workspaceKey,
    relay,
    webSocket: WebSocket as unknown as WebSocketConstructor,
    crypto: nodeRecordCrypto,
    timings: { maxReconnectDelayMs: 50 },
  });
  onTestFinished(() => workspace.close());
  return workspace;
}

/** Appends a message of the user; its id. */
export const say = (session: SharedSession, content: string): Promise<string> =>
  session.session.appendMessage({ role: "user", content });
