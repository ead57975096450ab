/** A device in a process of its own, on its own store; answers the calls of `device-calls.ts` over IPC. */
import { join } from "node:path";
import { mock } from "node:test";
import { openWorkspace, type SharedSession, type WebSocketConstructor, type Workspace } from "@coppice/client";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { readSessionFile } from "@coppice/storage-jsonl";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import { WebSocket } from "ws";
import { answerCalls } from "./call-process.ts";
import type { AddedBranch, DeviceCalls } from "./device-calls.ts";

let workspace: Workspace | undefined;
const addedBranches: AddedBranch[] = [];
let isClockSet = false;
let closeStore: (() => Promise<void>) | undefined;

answerCalls<DeviceCalls>({
  async open({ home, relay, keyHex, name, sealed = true, copyGraceMs }) {
    const store = await openLmdbStore({ path: join(home, "store") });
    closeStore = () => store.close();
    workspace = await openWorkspace({
      store,
      device: { id: `device-${name}`, name },
      workspaceKey: Uint8Array.from(Buffer.from(keyHex, "hex")),
      relay,
      webSocket: WebSocket as unknown as WebSocketConstructor,
      // What an unsealed room gives away must be there to be found, so nothing is deflated in one.
      crypto: sealed ? nodeRecordCrypto : { ...nodeRecordCrypto, deflate: (bytes) => bytes },
      sealed,
      ...(copyGraceMs === undefined ? {} : { copyGraceMs }),
    });
    workspace.subscribeBranches((branches) => {
      for (const { sessionId, entryId, parentId, deviceName } of branches)
        addedBranches.push({ sessionId, entryId, parentId, ...(deviceName === undefined ? {} : { deviceName }) });
    });
    return null;
  },
  async identity() {
    const { device, formerDeviceIds } = opened();
    return { id: device.id, name: device.name, formerIds: [...formerDeviceIds] };
  },
  async createSession({ sessionId }) {
    await opened().createSession({ id: sessionId, cwd: "/home/maya/work/harbor-shop" });
    return null;
  },
  async appendLines({ sessionId, lines }) {
    const { storage } = await find(sessionId);
    for (const line of lines) await storage.appendJson([line]);
    return null;
  },
  async context({ sessionId }) {
    return JSON.stringify(await (await find(sessionId)).session.buildContext());
  },
  async resume({ sessionId, policy }) {
    return (await (await find(sessionId)).resume(policy)).kind;
  },
  async importFile({ path }) {
    const file = await readSessionFile(path);
    const { session, written, known } = await opened().importSession(file);
    return { sessionId: session.id, written, known };
  },
  async listSessions() {
    return opened()
      .listSessions()
      .map(({ id, name }) => ({ id, ...(name === undefined ? {} : { name }) }));
  },
  async attach({ sessionId, timeoutMs }) {
    const deadline = Date.now() + timeoutMs;
    await waitForListing(sessionId, timeoutMs);
    const session = await opened().openSession(sessionId);
    return session.waitUntilSynced(Math.max(1, deadline - Date.now()));
  },
  async snapshot({ sessionId }) {
    const { storage } = await find(sessionId);
    const lines: string[] = [];
    for (const { id } of await storage.getEntries()) {
      const json = await storage.getEntryJson(id);
      if (json === undefined) throw new Error(`entry ${id} has no text`);
      lines.push(json);
    }
    const name = await storage.getSessionName();
    return { lines, leafId: await storage.getLeafId(), ...(name === undefined ? {} : { name }) };
  },
  async append({ sessionId, text }) {
    return (await find(sessionId)).session.appendMessage(userMessage(text));
  },
  async appendMany({ sessionId, texts }) {
    const { session } = await find(sessionId);
    return Promise.all(texts.map((text) => session.appendMessage(userMessage(text))));
  },
  async move({ sessionId, entryId }) {
    await (await find(sessionId)).session.moveTo(entryId);
    return null;
  },
  async nameSession({ sessionId, name }) {
    await (await find(sessionId)).session.appendSessionName(name);
    return null;
  },
  async label({ sessionId, entryId, label }) {
    await (await find(sessionId)).session.appendLabel(entryId, label);
    return null;
  },
  async cursors({ sessionId }) {
    return (await find(sessionId)).getCursors().map(({ deviceName, leafId, self }) => ({
      leafId,
      self,
      ...(deviceName === undefined ? {} : { deviceName }),
    }));
  },
  async pending({ sessionId }) {
    const { pending, unsaved, relay } = (await find(sessionId)).status();
    return { pending, unsaved, relay: relay.state };
  },
  async waitAcknowledged({ sessionId, timeoutMs }) {
    return (await find(sessionId)).waitUntilAcknowledged(timeoutMs);
  },
  async labelOf({ sessionId, entryId }) {
    return (await (await find(sessionId)).storage.getLabel(entryId)) ?? null;
  },
  async setClock({ nowMs }) {
    if (isClockSet) mock.timers.setTime(nowMs);
    else mock.timers.enable({ apis: ["Date"], now: nowMs });
    isClockSet = true;
    return null;
  },
  async listing() {
    return opened()
      .listSessions()
      .map(({ id, name, archived, parentSession }) => ({
        id,
        archived,
        ...(name === undefined ? {} : { name }),
        ...(parentSession === undefined ? {} : { parentSession }),
      }));
  },
  async fork({ sessionId, entryId }) {
    return (await opened().forkSession(sessionId, { entryId, position: "at" })).id;
  },
  async renameSession({ sessionId, name }) {
    await opened().renameSession(sessionId, name);
    return null;
  },
  async archive({ sessionId }) {
    await opened().archiveSession(sessionId);
    return null;
  },
  async branches() {
    return addedBranches;
  },
  async deleteSession({ sessionId, timeoutMs }) {
    return opened().deleteSession(sessionId, timeoutMs);
  },
  async close() {
    await workspace?.close();
    await closeStore?.();
    return null;
  },
});

function opened(): Workspace {
  if (workspace === undefined) throw new Error("the device is not open");
  return workspace;
}

function find(sessionId: string): Promise<SharedSession> {
  return opened().openSession(sessionId);
}

function waitForListing(sessionId: string, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const isListed = (): boolean =>
      opened()
        .listSessions()
        .some(({ id }) => id === sessionId);
    if (isListed()) return resolve();
    const timer = setTimeout(
      () => reject(new Error(`session ${sessionId} is not listed after ${timeoutMs} ms`)),
      timeoutMs,
    );
    const stop = opened().subscribe(() => {
      if (!isListed()) return;
      stop();
      clearTimeout(timer);
      resolve();
    });
  });
}

function userMessage(text: string): { role: string; content: string; timestamp: number } {
  return { role: "user", content: text, timestamp: Date.now() };
}
