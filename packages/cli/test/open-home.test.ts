import { setTimeout as wait } from "node:timers/promises";
import { openWorkspace, type WebSocketConstructor } from "@coppice/client";
import type { UpdateStore } from "@coppice/core";
import { readHome, storeFolderOf } from "@coppice/home";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { findSession, relayWaitMs } from "../src/open-home.ts";
import type { OpenHome } from "../src/opened-home.ts";
import { createOutput } from "../src/output.ts";
import { makeDevice, requireFreshBuild, startRelay } from "./support/run-coppice.ts";
import { shortSessionId, writeSessionFile } from "./support/session-files.ts";

beforeAll(requireFreshBuild);

it("[CP41] the relay is waited for once the session is open, however long the opening takes", async () => {
  const relay = await startRelay();
  const laptop = await makeDevice("laptop", relay.url);
  await laptop.run(["import", await writeSessionFile()]);
  const desktop = await makeDevice("desktop", (await laptop.runJson(["link"])).link);
  await desktop.runJson(["sync", "--once"]);
  const { entryId } = await laptop.runJson(["append", "Woods", "--role", "user", "Newest"]);
  const { sessions } = await desktop.runJson(["sessions"]);

  const home = await readHome(desktop.home);
  const store = await openLmdbStore({ path: storeFolderOf(desktop.home) });
  onTestFinished(() => store.close());
  const workspace = await openWorkspace({
    store: openLogSlowly(store, sessions[0].roomId, relayWaitMs + 100),
    device: home.device,
    workspaceKey: home.workspaceKey,
    relay: relay.url,
    webSocket: WebSocket as unknown as WebSocketConstructor,
  });
  onTestFinished(() => workspace.close());
  const remarks: string[] = [];
  const streams = { stdout: { write: () => true }, stderr: { write: (text: string) => remarks.push(text) }, env: {} };
  const opened: OpenHome = {
    home,
    workspace,
    isShared: false,
    waitFor: (_connected, wait) => wait,
    assertWanted: () => undefined,
  };
  const found = await findSession(opened, shortSessionId, {
    output: createOutput(streams, false),
    homeFolder: desktop.home,
    offline: false,
    stdin: process.stdin,
    env: {},
    listenForStop: () => new AbortController().signal,
    passedArgs: [],
    setExitCode: () => undefined,
    handedCommands: { accepts: async () => false, run: async () => 1 },
  });
  expect(found.isFresh).toBe(true);
  expect((await found.session.storage.getEntries()).at(-1)?.id).toBe(entryId);
  expect(remarks).toEqual([]);
});

/** A store on which one log takes long to open, as a long session's does. */
function openLogSlowly(store: UpdateStore, slowName: string, delayMs: number): UpdateStore {
  return {
    openLog: async (name) => {
      if (name === slowName) await wait(delayMs);
      return store.openLog(name);
    },
    listLogs: () => store.listLogs(),
    deleteLog: (name) => store.deleteLog(name),
    readValue: (key) => store.readValue(key),
    writeValue: (key, value) => store.writeValue(key, value),
    onForeignChange: (listener) => store.onForeignChange(listener),
    close: () => store.close(),
  };
}
