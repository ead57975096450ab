import { openWorkspace, type WebSocketConstructor } from "@coppice/client";
import { readHome, storeFolderOf } from "@coppice/home";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import type { TestDevice } from "./run-coppice.ts";
import { shortSessionId } from "./session-files.ts";

/** Shorter than a room must be quiet for a new device to take its place without further ado. */
const appendIntervalMs = 100;

/** Appends to the short session from a device until stopped, without a pause; settles once the first entry is at the relay. */
export async function keepAppending({ home: folder }: TestDevice): Promise<{
  /** Settles with the number of entries appended. */
  stop(): Promise<number>;
}> {
  const { device, workspaceKey, relay } = await readHome(folder);
  const store = await openLmdbStore({ path: storeFolderOf(folder) });
  const webSocket = WebSocket as unknown as WebSocketConstructor;
  const workspace = await openWorkspace({ store, device, workspaceKey, relay, webSocket });
  await workspace.waitUntilSynced(30_000);
  const session = await workspace.openSession(shortSessionId);
  await session.waitUntilSynced(30_000);
  const appends: Promise<string>[] = [];
  const append = (): void => {
    appends.push(session.session.appendMessage({ role: "user", content: `${appends.length}` }));
  };
  append();
  await session.waitUntilAcknowledged(30_000);
  const timer = setInterval(append, appendIntervalMs);
  let stopping: Promise<number> | undefined;
  const stop = async (): Promise<number> => {
    clearInterval(timer);
    await Promise.all(appends);
    await session.waitUntilAcknowledged(30_000);
    await workspace.close();
    await store.close();
    return appends.length;
  };
  const stopOnce = (): Promise<number> => {
    stopping ??= stop();
    return stopping;
  };
  onTestFinished(async () => {
    await stopOnce();
  });
  return { stop: stopOnce };
}
