import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorkspace, type SharedSession, type WebSocketConstructor, type Workspace } from "@coppice/client";
import type { UpdateStore } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay, type Relay } from "@coppice/relay";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";

const workspaceKey = new Uint8Array(32).fill(3);

async function openStore() {
  const folder = await mkdtemp(join(tmpdir(), "coppice-react-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const store = await openLmdbStore({ path: folder });
  onTestFinished(() => store.close());
  return store;
}

/** A relay that lives as long as the test, and can be away for a while. */
export async function startRelay(): Promise<{ url: string; stop: () => Promise<void>; start: () => Promise<void> }> {
  const store = await openStore();
  const open = (port: number): Promise<Relay> => openRelay({ store, auth: "open", port });
  let relay = await open(0);
  const { url } = relay;
  onTestFinished(() => relay.close());
  return {
    url,
    stop: () => relay.close(),
    start: async () => {
      relay = await open(Number(new URL(url).port));
    },
  };
}

/** A device of the workspace on a disk of its own; without a relay alone. */
export async function openDevice(
  name: string,
  relay?: string,
  toStore: (store: UpdateStore) => UpdateStore = (store) => store,
): Promise<Workspace> {
  const workspace = await openWorkspace({
    store: toStore(await openStore()),
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
