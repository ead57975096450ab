import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SharedSession, WebSocketConstructor, Workspace } from "@coppice/client";
import { openWorkspace } from "@coppice/client";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay, type Relay } from "@coppice/relay";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";

const workspaceKey = new Uint8Array(32).fill(6);
const cleanups: (() => Promise<unknown>)[] = [];
let relay: Relay;

beforeEach(async () => {
  relay = await openRelay({ store: await openStore(), auth: "open", port: 0 });
  cleanups.push(() => relay.close());
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function openStore(): ReturnType<typeof openLmdbStore> {
  const path = await mkdtemp(join(tmpdir(), "coppice-rotation-"));
  cleanups.push(() => rm(path, { recursive: true, force: true }));
  const store = await openLmdbStore({ path });
  cleanups.push(() => store.close());
  return store;
}

async function openDevice(
  name: string,
  store: Awaited<ReturnType<typeof openStore>>,
  isOnline = true,
): Promise<Workspace> {
  const workspace = await openWorkspace({
    store,
    device: { id: name, name },
    workspaceKey,
    relay: isOnline ? relay.url : undefined,
    webSocket: WebSocket as unknown as WebSocketConstructor,
    timings: { maxReconnectDelayMs: 50 },
  });
  cleanups.push(() => workspace.close());
  return workspace;
}

/** Settles once `isReached` holds; asked now and at every change. */
function waitFor(subscribe: (listener: () => void) => () => void, isReached: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (!isReached()) return;
      stop();
      resolve();
    };
    const stop = subscribe(() => check());
    check();
  });
}

async function openListed(workspace: Workspace, id: string): Promise<SharedSession> {
  await waitFor(
    (listener) => workspace.subscribe(listener),
    () => workspace.listSessions().some((session) => session.id === id),
  );
  const session = await workspace.openSession(id);
  expect(await session.waitUntilSynced(60_000)).toBe(true);
  return session;
}

const untilEntry = (session: SharedSession, id: string): Promise<void> =>
  waitFor(
    (listener) => session.subscribe(listener),
    () => session.getAuthor(id) !== undefined,
  );
const say = (content: string): { role: "user"; content: string } => ({ role: "user", content });

describe("a session that gets a new key", () => {
  it("[WS42] open on two devices: both go on, read each other, and see each other's cursors", async () => {
    const [laptop, phone] = [
      await openDevice("laptop", await openStore()),
      await openDevice("phone", await openStore()),
    ];
    const here = await laptop.createSession({ cwd: "/" });
    await here.session.appendMessage(say("before"));
    const there = await openListed(phone, here.id);
    const hasKey = (): boolean => phone.listSessions()[0]?.olderKeyIds.length === 1;
    await laptop.rotateKey(here.id);
    const fromLaptop = await here.session.appendMessage(say("after"));
    await untilEntry(there, fromLaptop);
    expect(hasKey()).toBe(true);
    const fromPhone = await there.session.appendMessage(say("answer"));
    await untilEntry(here, fromPhone);
    for (const [session, deviceId] of [
      [here, "phone"],
      [there, "laptop"],
    ] as const)
      await waitFor(
        (listener) => session.subscribe(listener),
        () => session.getCursors().some((cursor) => cursor.deviceId === deviceId && cursor.leafId !== null),
      );
    expect([here.getProblems(), there.getProblems()]).toEqual([[], []]);
    expect(phone.listSessions()[0]?.keyId).toBe(laptop.listSessions()[0]?.keyId);
  });

  it("[WS42] a device that was away writes with the key it knows, and everybody reads everything when it is back", async () => {
    const [laptopStore, phoneStore] = [await openStore(), await openStore()];
    const laptop = await openDevice("laptop", laptopStore);
    const here = await laptop.createSession({ cwd: "/" });
    const first = await here.session.appendMessage(say("before"));
    const online = await openDevice("phone", phoneStore);
    await untilEntry(await openListed(online, here.id), first);
    await online.close();
    const away = await openDevice("phone", phoneStore, false);
    const keyIdOf = (workspace: Workspace): string | undefined => workspace.listSessions()[0]?.keyId;
    await Promise.all([laptop.rotateKey(here.id), laptop.rotateKey(here.id)]);
    const fresh = await here.session.appendMessage(say("with the new key"));
    const old = await (await away.openSession(here.id)).session.appendMessage(say("with the old key"));
    expect(keyIdOf(away)).not.toBe(keyIdOf(laptop));
    await away.close();
    const back = await openDevice("phone", phoneStore);
    const there = await openListed(back, here.id);
    await Promise.all([untilEntry(there, fresh), untilEntry(here, old)]);
    expect(keyIdOf(back)).toBe(keyIdOf(laptop));
    expect(await there.storage.getLeafId()).toBe(old);
    expect([here.getProblems(), there.getProblems()]).toEqual([[], []]);
    const ids = async (session: SharedSession): Promise<string[]> =>
      (await session.storage.getEntries()).map(({ id }) => id);
    expect(await ids(there)).toEqual(await ids(here));
  });
});
