import { afterEach, describe, expect, it } from "vitest";
import {
  Cleanup,
  fetchSession,
  makeStore,
  openDevice,
  readTexts,
  startRelay,
  untilEqual,
} from "./src/rooms-under-test.ts";

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

describe("deleting a room", () => {
  it("[CL45] every device is told, keeps its entries and may append; other sessions go on; it stays deleted", async () => {
    const relay = await startRelay(cleanup, await makeStore(cleanup));
    const store = await makeStore(cleanup);
    const a = await openDevice(cleanup, { name: "a", relay: relay.url, store });
    const kept = await a.createSession({ cwd: "/tmp/kept" });
    const session = await a.createSession({ cwd: "/tmp" });
    await session.session.appendMessage({ role: "user", content: "hello" });
    const b = await openDevice(cleanup, { name: "b", relay: relay.url, store: await makeStore(cleanup) });
    const fetched = await fetchSession(b, session.id);
    const before = await untilEqual(session, fetched);

    expect(await a.deleteRoom(session.id, 30_000)).toBe(true);
    for (const told of [session, fetched]) {
      expect(await told.waitUntilAcknowledged(30_000)).toBe(false);
      expect(told.status()).toMatchObject({
        relay: { state: "refused", code: 4410, reason: expect.stringMatching(/deleted/) },
      });
      expect(await readTexts(told)).toEqual(before);
    }
    await fetched.session.appendMessage({ role: "user", content: "afterwards" });
    expect(fetched.status()).toMatchObject({ pending: 1, unsaved: 0 });
    expect(await kept.waitUntilAcknowledged(30_000)).toBe(true);

    await session.close();
    const again = await a.openSession(session.id);
    expect(await again.waitUntilSynced(30_000)).toBe(false);
    expect(again.status().relay).toMatchObject({ state: "refused", code: 4410 });
    expect(await a.deleteRoom(session.id, 30_000)).toBe(true);
    await expect(a.deleteRoom("no such session", 0)).rejects.toMatchObject({ code: "not_found" });
  });

  it("[CL45] without a relay nothing is deleted, and the caller hears so", async () => {
    const offline = await openDevice(cleanup, { name: "a", store: await makeStore(cleanup) });
    const session = await offline.createSession({ cwd: "/tmp" });
    expect(await offline.deleteRoom(session.id, 30_000)).toBe(false);
  });
});
