import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorkspace, type SharedSession, type WebSocketConstructor, type Workspace } from "@coppice/client";
import type { UpdateStore } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay, type Relay } from "@coppice/relay";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";

const workspaceKey = new Uint8Array(32).fill(4);
const cleanups: (() => Promise<unknown>)[] = [];
let relay: Relay;

beforeEach(async () => {
  relay = await openRelay({ store: await openStore(await makeFolder()), auth: "open", port: 0 });
  cleanups.push(() => relay.close());
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-copied-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openStore(path: string): Promise<UpdateStore> {
  const store = await openLmdbStore({ path });
  cleanups.push(() => store.close());
  return store;
}

/** One process on a home's store. */
async function openHome(store: UpdateStore, copyGraceMs?: number): Promise<Workspace> {
  const workspace = await openWorkspace({
    store,
    device: { id: "device-1", name: "laptop" },
    workspaceKey,
    relay: relay.url,
    webSocket: WebSocket as unknown as WebSocketConstructor,
    timings: { maxReconnectDelayMs: 50 },
    ...(copyGraceMs === undefined ? {} : { copyGraceMs }),
  });
  cleanups.push(() => workspace.close());
  return workspace;
}

const say = (session: SharedSession, content: string): Promise<string> =>
  session.session.appendMessage({ role: "user", content });

/** A home with two sessions, in each of which the device moved back to the first of two entries. */
async function makeHome(): Promise<{ folder: string; firstIds: string[]; sessionIds: string[] }> {
  const folder = await makeFolder();
  const store = await openLmdbStore({ path: folder });
  const workspace = await openHome(store);
  const firstIds: string[] = [];
  const sessionIds = ["shared", "other"];
  for (const id of sessionIds) {
    const session = await workspace.createSession({ id, cwd: "/" });
    const first = await say(session, "one");
    await say(session, "two");
    await session.session.moveTo(first);
    firstIds.push(first);
    await session.waitUntilAcknowledged(30_000);
  }
  await workspace.waitUntilAcknowledged(30_000);
  await workspace.close();
  await store.close();
  return { folder, firstIds, sessionIds };
}

async function copyFolder(folder: string): Promise<string> {
  const copy = await makeFolder();
  await cp(folder, copy, { recursive: true });
  return copy;
}

function untilChanged(workspace: Workspace): Promise<void> {
  return new Promise((resolve) => {
    if (workspace.formerDeviceIds.length > 0) resolve();
    const stop = workspace.subscribe((change) => {
      if (change !== "device") return;
      stop();
      resolve();
    });
  });
}

function until(session: SharedSession, isSo: () => boolean | Promise<boolean>): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = async (): Promise<void> => {
      if (!(await isSo())) return;
      stop();
      resolve();
    };
    const stop = session.subscribe(() => {
      check().catch(reject);
    });
    check().catch(reject);
  });
}

describe("a copied home", () => {
  it("[WS22] the copy that was opened later takes a new device id, keeps its place and loses nothing", async () => {
    const { folder, firstIds } = await makeHome();
    const copyStore = await openStore(await copyFolder(folder));
    const original = await openHome(await openStore(folder));
    const session = await original.openSession("shared");
    const copy = await openHome(copyStore);
    const copied = await copy.openSession("shared");
    await untilChanged(copy);
    expect(copy.device).toEqual({ id: expect.not.stringMatching(/^device-1$/), name: "laptop (copy)" });
    expect(copy.formerDeviceIds).toEqual(["device-1"]);
    expect(await copied.storage.getLeafId()).toBe(firstIds[0]);
    expect(copied.getDeviceLeafId()).toBe(firstIds[0]);
    const theirs = await say(copied, "of the copy");
    await until(session, async () => (await session.storage.getEntry(theirs)) !== undefined);
    await until(session, () => session.getAuthor(theirs)?.deviceName === "laptop (copy)");
    expect(session.getAuthor(theirs)?.deviceId).toBe(copy.device.id);
    expect(session.getDeviceLeafId()).toBe(firstIds[0]);
    const mine = await say(session, "of the original");
    await until(copied, async () => (await copied.storage.getEntry(mine)) !== undefined);
    expect(copied.getDeviceLeafId()).toBe(theirs);
    await until(session, () => session.getCursors().some(({ deviceId }) => deviceId === copy.device.id));
    expect(session.getCursors().map(({ sameDevice }) => sameDevice)).toEqual([true, false]);
    expect(original.device).toEqual({ id: "device-1", name: "laptop" });
  });

  it("[WS22] the new id lasts, and holds in sessions that were not open when it was taken", async () => {
    const { folder, firstIds } = await makeHome();
    const copyStore = await openStore(await copyFolder(folder));
    const original = await openHome(await openStore(folder));
    await original.openSession("shared");
    const other = await original.openSession("other");
    const copy = await openHome(copyStore);
    await copy.openSession("shared");
    await untilChanged(copy);
    const { id } = copy.device;
    await copy.close();
    const again = await openHome(copyStore);
    expect(again.device).toEqual({ id, name: "laptop (copy)" });
    const place = await again.openSession("other");
    expect(await place.storage.getLeafId()).toBe(firstIds[1]);
    const mine = await say(other, "of the original");
    await until(place, async () => (await place.storage.getEntry(mine)) !== undefined);
    expect(place.getDeviceLeafId()).toBe(firstIds[1]);
    await place.close();
    expect(await (await again.openSession("other")).storage.getLeafId()).toBe(firstIds[1]);
  });

  it("[WS22] a folder copied while the first replica was open: the first one goes", async () => {
    const { folder, firstIds } = await makeHome();
    const original = await openHome(await openStore(folder), 10);
    const session = await original.openSession("shared");
    const copy = await openHome(await openStore(await copyFolder(folder)), 10);
    await copy.openSession("shared");
    await untilChanged(original);
    expect(copy.device.id).toBe("device-1");
    expect(original.device.id).not.toBe("device-1");
    expect(session.getDeviceLeafId()).toBe(firstIds[0]);
  });

  it("[WS21] two processes of one home are no copies", async () => {
    const { folder } = await makeHome();
    const store = await openStore(folder);
    const [first, second] = [await openHome(store, 0), await openHome(store, 0)];
    const [one, two] = [await first.openSession("shared"), await second.openSession("shared")];
    for (const session of [one, two]) await until(session, () => session.getCursors().length === 2);
    const entry = await say(one, "three");
    await until(two, () => two.getCursors().some(({ self, leafId }) => !self && leafId === entry));
    const answer = await say(two, "four");
    await until(one, () => one.getCursors().some(({ self, leafId }) => !self && leafId === answer));
    expect([first.device.id, second.device.id]).toEqual(["device-1", "device-1"]);
    expect(one.getCursors().map(({ self, sameDevice }) => [self, sameDevice])).toEqual([
      [true, true],
      [false, true],
    ]);
  });
});
