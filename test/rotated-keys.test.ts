import type { SharedSession, Workspace } from "@coppice/client";
import type { UpdateStore } from "@coppice/core";
import type { Relay } from "@coppice/relay";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Cleanup, fetchSession, makeStore, openDevice, startRelay, waitFor } from "./src/rooms-under-test.ts";

const cleanup = new Cleanup();
let relay: Relay;

beforeEach(async () => {
  relay = await startRelay(cleanup, await makeStore(cleanup));
});
afterEach(() => cleanup.run());

const openOnline = (name: string, store: UpdateStore): Promise<Workspace> =>
  openDevice(cleanup, { name, store, relay: relay.url });

async function openListed(workspace: Workspace, id: string): Promise<SharedSession> {
  const session = await fetchSession(workspace, id);
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
      await openOnline("laptop", await makeStore(cleanup)),
      await openOnline("phone", await makeStore(cleanup)),
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
      [here, "device-phone"],
      [there, "device-laptop"],
    ] as const)
      await waitFor(
        (listener) => session.subscribe(listener),
        () => session.getCursors().some((cursor) => cursor.deviceId === deviceId && cursor.leafId !== null),
      );
    expect([here.getProblems(), there.getProblems()]).toEqual([[], []]);
    expect(phone.listSessions()[0]?.keyId).toBe(laptop.listSessions()[0]?.keyId);
  });

  it("[WS42] a device that was away writes with the key it knows, and everybody reads everything when it is back", async () => {
    const [laptopStore, phoneStore] = [await makeStore(cleanup), await makeStore(cleanup)];
    const laptop = await openOnline("laptop", laptopStore);
    const here = await laptop.createSession({ cwd: "/" });
    const first = await here.session.appendMessage(say("before"));
    const online = await openOnline("phone", phoneStore);
    await untilEntry(await openListed(online, here.id), first);
    await online.close();
    const away = await openDevice(cleanup, { name: "phone", store: phoneStore });
    const keyIdOf = (workspace: Workspace): string | undefined => workspace.listSessions()[0]?.keyId;
    await Promise.all([laptop.rotateKey(here.id), laptop.rotateKey(here.id)]);
    const fresh = await here.session.appendMessage(say("with the new key"));
    const old = await (await away.openSession(here.id)).session.appendMessage(say("with the old key"));
    expect(keyIdOf(away)).not.toBe(keyIdOf(laptop));
    await away.close();
    const back = await openOnline("phone", phoneStore);
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
