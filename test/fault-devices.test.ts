import type { SharedSession } from "@coppice/client";
import type { SessionEntry } from "@coppice/core";
import { deriveRoomKeys, YjsSessionStorage } from "@coppice/storage-yjs";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import * as Y from "yjs";
import { limitStore } from "./src/quota-store.ts";
import {
  Cleanup,
  fetchSession,
  makeStore,
  openDevice,
  readRoom,
  readTexts,
  startRelay,
  untilEqual,
  workspaceKey,
} from "./src/rooms-under-test.ts";
import { openStockClient } from "./src/stock-client.ts";

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

const say = (session: SharedSession, content: string): Promise<string> =>
  session.session.appendMessage({ role: "user", content });

/** Settles when this holds; looked at after every change of the session. */
function until(session: SharedSession, holds: () => boolean | Promise<boolean>): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = async (): Promise<void> => {
      if (!(await holds())) return;
      stop();
      resolve();
    };
    const stop = session.subscribe(() => void look().catch(reject));
    look().catch(reject);
  });
}

const has = (session: SharedSession, id: string) => async (): Promise<boolean> =>
  (await session.storage.getEntry(id)) !== undefined;

describe("devices in trouble that others had", () => {
  it("[CL2] F59: a used-up quota shows as such, what others write goes on arriving, and with space all is saved and sent", async () => {
    const relay = await startRelay(cleanup, await makeStore(cleanup));
    const disk = await makeStore(cleanup);
    const store = limitStore(disk, 20_000);
    const a = await openDevice(cleanup, { name: "a", relay: relay.url, store });
    const b = await openDevice(cleanup, { name: "b", relay: relay.url, store: await makeStore(cleanup) });
    const session = await a.createSession({ cwd: "/" });
    const other = await fetchSession(b, session.id);
    const kept = await say(session, "there is space");
    await until(other, has(other, kept));
    store.leftBytes = 0;
    await expect(say(session, "too much")).rejects.toMatchObject({ code: "storage_full" });
    await until(session, () => session.status().local.state === "failed");
    expect(session.status().local).toMatchObject({ cause: "write", reason: expect.stringMatching(/quota/) });
    const foreign = await say(other, "meanwhile on b");
    await until(session, has(session, foreign));
    expect(session.status()).toMatchObject({ local: { state: "failed" }, relay: { state: "live" } });
    // What is not safe here is not sent either.
    expect(await readTexts(other)).not.toContainEqual(expect.stringContaining("too much"));
    store.leftBytes = 1e9;
    await until(session, () => session.status().local.state === "saved");
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    const texts = await untilEqual(session, other);
    expect(texts.filter((text) => /too much|meanwhile|space/.test(text))).toHaveLength(3);
    expect((await readRoom(disk, session.roomId)).getArray("entries").length).toBe(texts.length + 1);
  });

  it("[YS20] F66: a device that was off for a month has the union, moves nobody, and goes on where it stood until it is asked", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-03-01T08:00:00Z") });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const relay = await startRelay(cleanup, await makeStore(cleanup));
    const a = await openDevice(cleanup, { name: "a", relay: relay.url, store: await makeStore(cleanup) });
    const store = await makeStore(cleanup);
    const b = await openDevice(cleanup, { name: "b", relay: relay.url, store });
    const session = await a.createSession({ cwd: "/" });
    await say(session, "march");
    const early = await fetchSession(b, session.id);
    await untilEqual(session, early);
    await b.close();
    // Without a relay it writes one thing more before it is put away.
    const offline = await openDevice(cleanup, { name: "b", store });
    const oldLeaf = await say(await offline.openSession(session.id), "the last thing on b");
    await offline.close();
    for (let day = 1; day <= 30; day += 1) {
      vi.setSystemTime(Date.parse("2026-03-01T08:00:00Z") + day * 86_400_000);
      await say(session, `day ${day}`);
    }
    const newLeaf = await session.storage.getLeafId();
    await session.waitUntilAcknowledged(30_000);
    const back = await openDevice(cleanup, { name: "b", relay: relay.url, store });
    const again = await fetchSession(back, session.id);
    const texts = await untilEqual(session, again);
    expect(texts).toHaveLength(32);
    expect(await session.storage.getLeafId()).toBe(newLeaf);
    expect(await again.storage.getLeafId()).toBe(oldLeaf);
    // Nothing old passes for the newest: who asks for that is brought to a's last day.
    expect(again.planResume("latest")).toMatchObject({ kind: "latest", toId: newLeaf });
    const newcomer = await openDevice(cleanup, { name: "c", relay: relay.url, store: await makeStore(cleanup) });
    expect(await (await fetchSession(newcomer, session.id)).storage.getLeafId()).toBe(newLeaf);
  });

  it("[RC4] F81: sessions written under client ids of 32 and of 53 bits are read and continued by everybody", async () => {
    const relay = await startRelay(cleanup, await makeStore(cleanup));
    const a = await openDevice(cleanup, { name: "a", relay: relay.url, store: await makeStore(cleanup) });
    const session = await a.createSession({ cwd: "/" });
    let last = await say(session, "of 32 bits");
    for (const clientId of [2 ** 32 + 1, 2 ** 40 + 7, Number.MAX_SAFE_INTEGER]) {
      const doc = new Y.Doc();
      doc.clientID = clientId;
      const client = openStockClient(relay.url, session.roomId, { doc });
      const count = (await readTexts(session)).length + 1;
      await client.until(() => client.entries.length === count);
      const storage = await YjsSessionStorage.open({
        doc,
        sessionId: session.id,
        keys: deriveRoomKeys(workspaceKey, session.id),
        deviceId: `device-${clientId}`,
        synced: true,
      });
      expect(await storage.getEntry(last)).toBeDefined();
      const id = await storage.createEntryId();
      const message = { role: "user", content: `of client ${clientId}` };
      const timestamp = new Date(0).toISOString();
      await storage.appendEntry({ type: "message", id, parentId: last, timestamp, message } as unknown as SessionEntry);
      expect(doc.store.clients.has(clientId)).toBe(true);
      await until(session, has(session, id));
      await session.session.moveTo(id);
      last = await say(session, "back on 32 bits");
      await storage.close();
      client.destroy();
    }
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    const b = await openDevice(cleanup, { name: "b", relay: relay.url, store: await makeStore(cleanup) });
    const texts = await untilEqual(session, await fetchSession(b, session.id));
    expect(texts.filter((text) => text.includes("of client"))).toHaveLength(3);
  });

  it("[ST1, YS10] F83: different entries under one forged id are both taken and kept; the same update again adds nothing", async () => {
    const relayStore = await makeStore(cleanup);
    const relay = await startRelay(cleanup, relayStore);
    const stores = [await makeStore(cleanup), await makeStore(cleanup)] as const;
    const a = await openDevice(cleanup, { name: "a", relay: relay.url, store: stores[0] });
    const b = await openDevice(cleanup, { name: "b", relay: relay.url, store: stores[1] });
    const session = await a.createSession({ cwd: "/" });
    const parentId = await say(session, "hello");
    const other = await fetchSession(b, session.id);
    await untilEqual(session, other);
    const forge = (content: string): SessionEntry =>
      ({
        type: "message",
        id: "forged",
        parentId,
        timestamp: new Date(0).toISOString(),
        message: { role: "user", content },
      }) as never;
    await Promise.all([session.storage.appendEntry(forge("of a")), other.storage.appendEntry(forge("of b"))]);
    // What comes behind them shows that they have come.
    const [lastOfA, lastOfB] = [await say(session, "afterwards"), await say(other, "afterwards")];
    await until(session, has(session, lastOfB));
    await until(other, has(other, lastOfA));
    for (const each of [session, other]) expect(await each.waitUntilAcknowledged(30_000)).toBe(true);
    await untilEqual(session, other);
    // Everything again, from a client that knows nothing of who has what.
    const doc = await readRoom(relayStore, session.roomId);
    const client = openStockClient(relay.url, session.roomId, { doc });
    await client.until(() => client.provider.synced);
    client.destroy();
    await say(session, "and on");
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    await untilEqual(session, other);
    // What has come is on disk once they are closed: header, hello, both forged ones, and what came behind them.
    await a.close();
    await b.close();
    for (const store of [relayStore, ...stores])
      expect((await readRoom(store, session.roomId)).getArray("entries").length).toBe(7);
  });
});
