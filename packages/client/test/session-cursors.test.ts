import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SessionError, type UpdateStore } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { deriveRoomKeys } from "@coppice/storage-yjs";
import { encodeFrame } from "@coppice/wire";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { WebsocketProvider } from "y-websocket";
import * as Y from "yjs";
import { HomeReplicas } from "../src/home-replicas.ts";
import { Replica } from "../src/replica.ts";
import { type OpenedSession, openSharedSession } from "../src/shared-session.ts";
import { openWorkspace } from "../src/workspace.ts";
import type { WebSocketConstructor } from "../src/workspace-types.ts";
import { answerWithoutAcks, type RawRelay, startRawRelay } from "./raw-relay.ts";

const workspaceKey = new Uint8Array(32).fill(5);
const room = deriveRoomKeys(workspaceKey, "shared");
const headerJson = JSON.stringify({ type: "session", version: 3, id: "shared", timestamp: "2026-01-01", cwd: "/" });
const cleanups: (() => unknown)[] = [];
let store: UpdateStore;

beforeEach(async () => {
  const folder = mkdtempSync(join(tmpdir(), "coppice-session-cursors-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  store = await openLmdbStore({ path: folder });
  cleanups.push(() => store.close());
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** The session on a replica of its own. */
async function open(options: { name?: string; sealed?: boolean; relay?: string | undefined } = {}) {
  const { name = "laptop", sealed = true, relay } = options;
  const replica = await Replica.open({
    log: await store.openLog(`${name}-log`),
    roomId: room.roomId,
    relay,
    webSocket: WebSocket as unknown as WebSocketConstructor,
    timings: { maxReconnectDelayMs: 50 },
  });
  const session = await openSharedSession({
    id: "shared",
    replica,
    roomId: `${room.roomId}-${name}`,
    keys: sealed ? [room] : undefined,
    crypto: undefined,
    store,
    deviceId: `id-${name}`,
    formerDeviceIds: [],
    replicaId: `replica-${name}`,
    cursor: "replica",
    isVisible: true,
    deviceNames: () => new Map(),
    onBranches: () => undefined,
    onNamed: () => undefined,
    onSameDevice: () => undefined,
    onClosing: () => undefined,
  });
  cleanups.push(() => session.close());
  await session.create(headerJson);
  replica.connect();
  return { session, replica };
}

function untilCursors(session: OpenedSession, isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (!isSo()) return;
      stop();
      resolve();
    };
    const stop = session.subscribe(check);
    check();
  });
}

const others = (session: OpenedSession) => session.getCursors().filter(({ self }) => !self);

describe("the cursor of this replica", () => {
  it("[CU11] a million changes leave the document and everything that is stored as it was", {
    timeout: 240_000,
  }, async () => {
    const { session, replica } = await open({ sealed: false });
    await session.session.appendMessage({ role: "user", content: "one" });
    const log = await store.openLog("laptop-log");
    const measure = () => ({ doc: Y.encodeStateAsUpdate(replica.doc), lastSeq: log.lastSeq() });
    const before = measure();
    const clockBefore = replica.awareness.meta.get(replica.awareness.clientID)?.clock ?? 0;
    for (let change = 0; change < 1_000_000; change++) session.setRunning(change % 2 === 0);
    expect(measure()).toEqual(before);
    expect(replica.awareness.meta.get(replica.awareness.clientID)?.clock).toBe(clockBefore + 1_000_000);
    expect(replica.awareness.meta.size).toBe(1);
    expect(session.getCursors()).toHaveLength(1);
    expect(await store.listLogs()).toEqual(["laptop-log"]);
  });

  it("[CU9] a thousand changes at once are told once", async () => {
    const { session } = await open();
    await untilCursors(session, () => session.getCursors().length === 1);
    let told = 0;
    const isTold = new Promise<void>((resolve) => {
      session.subscribe((change) => {
        if (change !== "cursors") return;
        told++;
        if (session.getCursors()[0]?.running) resolve();
      });
    });
    // What was under way before may be told apart from these.
    for (let change = 0; change <= 1_000; change++) session.setRunning(change % 2 === 0);
    await isTold;
    expect(told).toBe(1);
  });

  it("[WS21] is shown by a replica that stands in its home's store already, and else by none", async () => {
    const openHome = async (home: UpdateStore) => {
      const workspace = await openWorkspace({ store: home, device: { id: "device-1", name: "laptop" }, workspaceKey });
      cleanups.push(() => workspace.close());
      return workspace;
    };
    const { id } = await (await openHome(store)).createSession({ cwd: "/" });
    const [own] = (await (await openHome(store)).openSession(id)).getCursors();
    expect(await (await HomeReplicas.open(store, "looks")).isRegistered(own?.replicaId ?? "")).toBe(true);
    const full: UpdateStore = Object.assign(Object.create(store), {
      openLog: (name: string) => store.openLog(name),
      readValue: (key: string) => store.readValue(key),
      writeValue: () => Promise.reject(new SessionError("storage_full", "The disk is full.")),
    });
    const unregistered = await (await openHome(full)).openSession(id);
    expect(await unregistered.storage.getMetadata()).toMatchObject({ id });
    expect(unregistered.getCursors()).toEqual([]);
  });
});

describe("on a server that passes everything on to everybody", () => {
  /** As stock servers do: awareness frames of anybody, to all, the sender included. */
  async function startOpenServer(): Promise<RawRelay> {
    const server: RawRelay = await startRawRelay((frame, answer) => {
      answerWithoutAcks(frame, answer);
      if (frame.type === "awareness") for (const socket of server.sockets) socket.send(encodeFrame(frame));
    });
    cleanups.push(() => server.close());
    return server;
  }

  function openStock(server: RawRelay): WebsocketProvider {
    const provider = new WebsocketProvider(server.url, room.roomId, new Y.Doc(), {
      disableBc: true,
      WebSocketPolyfill: WebSocket as unknown as typeof globalThis.WebSocket,
    });
    cleanups.push(() => {
      provider.destroy();
      provider.awareness.destroy();
    });
    return provider;
  }

  it("[CU6] F77, F78: a stock client's echoes do no harm, and who takes another's client id ends nobody's cursor", async () => {
    const server = await startOpenServer();
    const laptop = await open({ name: "laptop", relay: server.url });
    const phone = await open({ name: "phone", relay: server.url });
    const stock = openStock(server);
    while (!stock.wsconnected) await new Promise((resolve) => stock.once("status", resolve));
    laptop.session.setRunning(true);
    phone.session.setRunning(true);
    await untilCursors(laptop.session, () => others(laptop.session).length === 1);
    await untilCursors(phone.session, () => others(phone.session).length === 1);
    const victim = laptop.replica.awareness.clientID;
    // The stock client says that the laptop is somewhere else, then that it is gone.
    for (const lie of [{ v: 1, sealed: "AAAA" }, null]) {
      const own = laptop.replica.awareness.getLocalState();
      const { awareness } = stock;
      awareness.clientID = victim;
      const clock = 1_000 + (laptop.replica.awareness.meta.get(victim)?.clock ?? 0);
      awareness.meta.set(victim, { clock, lastUpdated: Date.now() });
      awareness.setLocalState(lie);
      await server.waitForFrame(
        (frame) =>
          frame.type === "awareness" &&
          frame.states.some(({ client, state }) => client === victim && state === JSON.stringify(lie)),
      );
      expect(laptop.replica.awareness.getLocalState()).toEqual(own);
      // The laptop contradicts with a greater clock, and the phone sees it move.
      const isRunning = lie !== null;
      laptop.session.setRunning(!isRunning);
      await untilCursors(phone.session, () => others(phone.session)[0]?.running === (isRunning ? undefined : true));
    }
    expect(laptop.session.getCursors()[0]).toMatchObject({ self: true, deviceId: "id-laptop" });
  });
});
