import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorkspace, type SharedSession, type WebSocketConstructor, type Workspace } from "@coppice/client";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay, type Relay } from "@coppice/relay";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";

const workspaceKey = new Uint8Array(32).fill(3);
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
  const folder = await mkdtemp(join(tmpdir(), "coppice-cursors-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openStore(path: string) {
  const store = await openLmdbStore({ path });
  cleanups.push(() => store.close());
  return store;
}

async function openDevice(name: string, folder?: string): Promise<Workspace> {
  const workspace = await openWorkspace({
    store: await openStore(folder ?? (await makeFolder())),
    device: { id: `id-${name}`, name },
    workspaceKey,
    relay: relay.url,
    webSocket: WebSocket as unknown as WebSocketConstructor,
    timings: { maxReconnectDelayMs: 50 },
  });
  cleanups.push(() => workspace.close());
  return workspace;
}

/** Settles when it is so; asked again whenever the session says that something changed. */
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

const cursorOf = (session: SharedSession, name: string) =>
  session.getCursors().find(({ deviceName }) => deviceName === name);

/** A session made by the laptop with two entries, and open on the phone too, each seeing the other. */
async function share(): Promise<{ laptop: SharedSession; phone: SharedSession; ids: string[]; phoneSpace: Workspace }> {
  const laptopSpace = await openDevice("laptop");
  const laptop = await laptopSpace.createSession({ cwd: "/", id: "shared" });
  const ids = [];
  for (const content of ["one", "two"]) ids.push(await laptop.session.appendMessage({ role: "user", content }));
  await laptop.waitUntilAcknowledged(30_000);
  await laptopSpace.waitUntilAcknowledged(30_000);
  const phoneSpace = await openDevice("phone");
  await phoneSpace.waitUntilSynced(30_000);
  const phone = await phoneSpace.openSession("shared");
  await phone.waitUntilSynced(30_000);
  await until(phone, () => cursorOf(phone, "laptop") !== undefined);
  await until(laptop, () => laptop.getCursors().some(({ deviceId }) => deviceId === "id-phone"));
  return { laptop, phone, ids, phoneSpace };
}

describe("cursors through a relay", () => {
  it("[CL111] who follows hears where the view goes as leaf, and where it comes back to", async () => {
    const { laptop, phone, ids } = await share();
    const seen: (string | null | undefined)[] = [phone.getLeafId()];
    phone.subscribe((change) => {
      if (change === "leaf") seen.push(phone.getLeafId());
    });
    phone.follow("id-laptop");
    await laptop.session.moveTo(ids[0] as string);
    await until(phone, () => seen.length === 2);
    phone.unfollow();
    expect(phone.getLeafId()).toBe(ids[1]);
    await until(phone, () => seen.length === 3);
    expect(seen).toEqual([ids[1], ids[0], ids[1]]);
  });

  it("[CU9] F71: me is this replica, first, and others of this device are told apart from those of others", async () => {
    const { laptop, phone, ids } = await share();
    expect(laptop.getCursors()).toMatchObject([
      { deviceId: "id-laptop", self: true, sameDevice: true, leafId: ids[1] },
      { deviceId: "id-phone", self: false, sameDevice: false, leafId: ids[1] },
    ]);
    expect(phone.getCursors().map(({ deviceId, self }) => [deviceId, self])).toEqual([
      ["id-phone", true],
      ["id-laptop", false],
    ]);
  });

  it("[CU9] F69: seen again at once after the connection was lost, and gone while it is", async () => {
    const { laptop, phone, ids } = await share();
    const { port } = new URL(relay.url);
    await relay.close();
    await until(phone, () => cursorOf(phone, "laptop") === undefined);
    expect(phone.getCursors()).toHaveLength(1);
    relay = await openRelay({ store: await openStore(await makeFolder()), auth: "open", port: Number(port) });
    cleanups.push(() => relay.close());
    await until(phone, () => cursorOf(phone, "laptop")?.leafId === ids[1]);
    await until(laptop, () => laptop.getCursors().length === 2);
  });

  it("[CU4] F73: a cursor is gone when its replica has closed", async () => {
    const { laptop, phone, phoneSpace } = await share();
    await phone.close();
    await until(laptop, () => laptop.getCursors().length === 1);
    await phoneSpace.openSession("shared");
    await until(laptop, () => laptop.getCursors().length === 2);
  });

  it("[CU10] running shows, keeps the leaf, and refuses to follow and to resume", async () => {
    const { laptop, phone, ids } = await share();
    phone.setRunning(true);
    await until(laptop, () => laptop.getCursors()[1]?.running === true);
    const id = await laptop.session.appendMessage({ role: "user", content: "three" });
    await until(phone, async () => (await phone.storage.getEntry(id)) !== undefined);
    expect(() => phone.follow("id-laptop")).toThrow(expect.objectContaining({ code: "invalid_session" }));
    await expect(phone.resume("fast-forward")).rejects.toMatchObject({ code: "invalid_session" });
    expect(await phone.storage.getLeafId()).toBe(ids[1]);
    phone.setRunning(false);
    await until(laptop, () => laptop.getCursors()[1]?.running === undefined);
    expect(await phone.resume("fast-forward")).toMatchObject({ toId: id });
  });
});

describe("following", () => {
  it("[CU8] looks at what the other looks at, shows that, and leaves the own place alone", async () => {
    const { laptop, phone, ids } = await share();
    phone.follow("id-laptop");
    await until(laptop, () => laptop.getCursors()[1]?.following === "id-laptop");
    const id = await laptop.session.appendMessage({ role: "user", content: "three" });
    await until(phone, async () => (await phone.storage.getLeafId()) === id);
    expect(phone.getDeviceLeafId()).toBe(ids[1]);
    expect(cursorOf(phone, "phone")).toMatchObject({ leafId: ids[1], following: "id-laptop" });
    await laptop.session.moveTo(ids[0] ?? null);
    await until(phone, async () => (await phone.storage.getLeafId()) === ids[0]);
    expect((await phone.session.buildContext()).messages).toHaveLength(1);
    phone.unfollow();
    expect(await phone.storage.getLeafId()).toBe(ids[1]);
    await until(laptop, () => laptop.getCursors()[1]?.following === undefined);
    // Two entries, one more, and the laptop's move: nothing of the phone.
    await until(phone, async () => (await phone.storage.getEntries()).length === 4);
    expect(
      new Set((await phone.storage.getEntries()).map(({ id: entry }) => phone.getAuthor(entry)?.deviceId)),
    ).toEqual(new Set(["id-laptop"]));
  });

  it("[CU8] an append continues where one looks, becomes the own place, and ends it", async () => {
    const { laptop, phone, ids } = await share();
    phone.follow("id-laptop");
    await laptop.session.moveTo(ids[0] ?? null);
    await until(phone, async () => (await phone.storage.getLeafId()) === ids[0]);
    const answer = await phone.session.appendMessage({ role: "user", content: "answer" });
    expect((await phone.storage.getEntry(answer))?.parentId).toBe(ids[0]);
    expect(phone.getDeviceLeafId()).toBe(answer);
    const next = await laptop.session.appendMessage({ role: "user", content: "elsewhere" });
    await until(phone, () => cursorOf(phone, "laptop")?.leafId === next);
    expect(await phone.storage.getLeafId()).toBe(answer);
    expect(cursorOf(phone, "phone")?.following).toBeUndefined();
  });

  it("[CU8] two who follow each other look at each other's place and go no further", async () => {
    const { laptop, phone, ids } = await share();
    await laptop.session.moveTo(ids[0] ?? null);
    await until(phone, () => cursorOf(phone, "laptop")?.leafId === ids[0]);
    phone.follow("id-laptop");
    laptop.follow("id-phone");
    await until(phone, () => cursorOf(phone, "laptop")?.following === "id-phone");
    await until(laptop, () => laptop.getCursors()[1]?.following === "id-laptop");
    expect(await phone.storage.getLeafId()).toBe(ids[0]);
    expect(await laptop.storage.getLeafId()).toBe(ids[1]);
    expect([laptop, phone].map((session) => session.getDeviceLeafId())).toEqual([ids[0], ids[1]]);
  });

  it("[CU10] an agent that starts where one follows runs there, and is not taken along", async () => {
    const { laptop, phone, ids } = await share();
    phone.follow("id-laptop");
    await laptop.session.moveTo(ids[0] ?? null);
    await until(phone, async () => (await phone.storage.getLeafId()) === ids[0]);
    phone.setRunning(true);
    const next = await laptop.session.appendMessage({ role: "user", content: "elsewhere" });
    await until(phone, () => cursorOf(phone, "laptop")?.leafId === next);
    expect(await phone.storage.getLeafId()).toBe(ids[0]);
  });
});
