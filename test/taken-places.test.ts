import type { SharedSession } from "@coppice/client";
import type { UpdateStore } from "@coppice/core";
import { afterEach, describe, expect, it } from "vitest";
import * as Y from "yjs";
import { makeMortal } from "./src/mortal-store.ts";
import {
  Cleanup,
  fetchSession,
  makeStore,
  openDevice,
  readRoom,
  readTexts,
  startRelay,
  untilEqual,
  writeAs,
} from "./src/rooms-under-test.ts";
import { startScriptedProxy } from "./src/scripted-proxy.ts";

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

async function append(session: SharedSession, ...texts: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const content of texts) ids.push(await session.session.appendMessage({ role: "user", content }));
  return ids;
}

/** The client id under which a device has written most records of a room. */
async function findClientId(store: UpdateStore, roomId: string): Promise<number> {
  const { clients } = (await readRoom(store, roomId)).store;
  return [...clients].sort(([, left], [, right]) => right.length - left.length)[0]?.[0] ?? 0;
}

/** A device that wrote three entries offline after two that the relay has. */
async function goOffline(relayStore: UpdateStore) {
  const relay = await startRelay(cleanup, relayStore);
  const proxy = await startScriptedProxy(relay.url);
  cleanup.add(() => proxy.close());
  const store = await makeStore(cleanup);
  const mortal = makeMortal(store);
  const victim = await openDevice(cleanup, { name: "victim", relay: proxy.url, store: mortal, isMortal: true });
  const session = await victim.createSession({ cwd: "/tmp" });
  await append(session, "one", "two");
  expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
  expect(await victim.waitUntilAcknowledged(30_000)).toBe(true);
  const clientId = await findClientId(store, session.roomId);
  proxy.isOpen = false;
  proxy.cut();
  const ids = await append(session, "three", "four", "five");
  return { relay, proxy, store, mortal, victim, session, ids, clientId };
}

describe("somebody else's records at the places of ours", () => {
  it.each([
    ["fewer", 1, false],
    ["as many", 3, false],
    ["more", 5, false],
    ["fewer readable", 1, true],
    ["as many readable", 3, true],
    ["more readable", 5, true],
  ])(
    "[CL42] %s records under our client id: nothing is lost, a new id is taken, all devices are equal",
    async (_what, count, hasKey) => {
      const relayStore = await makeStore(cleanup);
      const { relay, proxy, store, session, ids, clientId } = await goOffline(relayStore);
      const before = await readTexts(session);
      const leaf = await session.storage.getLeafId();
      const told: string[] = [];
      session.storage.subscribe(({ added }) => void told.push(...added.map(({ id }) => id)));
      await writeAs(clientId, { relay, doc: await readRoom(relayStore, session.roomId), session, count, hasKey });

      proxy.isOpen = true;
      expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
      expect(session.status()).toMatchObject({ pending: 0, setAside: { restored: 3, unreadable: 0 } });
      expect(await session.storage.getLeafId()).toBe(leaf);
      const texts = await readTexts(session);
      for (const text of before) expect(texts).toContain(text);
      expect(texts).toHaveLength(before.length + (hasKey ? count : 0));
      expect(told.filter((id) => ids.includes(id))).toEqual([]);

      const [next] = await append(session, "six");
      expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
      const other = await openDevice(cleanup, { name: "other", relay: relay.url, store: await makeStore(cleanup) });
      const fetched = await fetchSession(other, session.id);
      await untilEqual(session, fetched);
      expect(await fetched.storage.getEntry(next ?? "")).toMatchObject({ parentId: leaf });
      const doc = await readRoom(store, session.roomId);
      expect(doc.store.clients.size).toBe(2);
      expect(doc.store.clients.get(clientId)).toHaveLength(3 + count);
      expect([...doc.store.clients.keys()]).not.toContain(0);
    },
  );

  it.each(["kept", "lost"] as const)(
    "[CL42] killed at any write on the way (the last one %s): the next process has everything, once, and goes on",
    async (last) => {
      let write = 0;
      for (let isDone = false; !isDone; ) {
        write += 1;
        const relayStore = await makeStore(cleanup);
        const { relay, proxy, store, mortal, session, clientId } = await goOffline(relayStore);
        const before = await readTexts(session);
        const doc = await readRoom(relayStore, session.roomId);
        await writeAs(clientId, { relay, doc, session, count: 2, hasKey: true });
        const died = mortal.dieAt(write, last).then(() => false);
        proxy.isOpen = true;
        isDone = await Promise.race([died, session.waitUntilAcknowledged(30_000)]);
        proxy.isOpen = false;
        proxy.cut();

        const again = await openDevice(cleanup, { name: "victim", relay: relay.url, store });
        const reopened = await fetchSession(again, session.id);
        expect(await reopened.waitUntilAcknowledged(30_000)).toBe(true);
        const texts = await readTexts(reopened);
        expect(new Set(texts).size).toBe(texts.length);
        for (const text of before) expect(texts).toContain(text);
        expect(texts).toHaveLength(before.length + 2);
        const other = await openDevice(cleanup, { name: "other", relay: relay.url, store: await makeStore(cleanup) });
        await untilEqual(reopened, await fetchSession(other, session.id));
        expect(await store.readValue(`aside/${session.roomId}`)).toBeUndefined();
        await cleanup.run();
      }
      // The value, the log, the records, the value again: fewer would mean that nothing was tried.
      expect(write).toBeGreaterThan(5);
    },
  );

  it("[CL42] a wiped relay that somebody fills with garbage under the ids of all: the devices write everything again", async () => {
    const { relay: old, proxy, session, ids, clientId, victim } = await goOffline(await makeStore(cleanup));
    const before = await readTexts(session);
    await old.close();
    const relay = await startRelay(cleanup, await makeStore(cleanup));
    const empty = await readRoom(await makeStore(cleanup), session.roomId);
    await writeAs(clientId, { relay, doc: empty, session, count: 20, hasKey: false });
    proxy.leadTo(relay.url);
    proxy.isOpen = true;
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    expect(await victim.waitUntilAcknowledged(30_000)).toBe(true);
    expect(session.status().setAside).toEqual({ restored: 6, unreadable: 0 });
    const other = await openDevice(cleanup, { name: "other", relay: relay.url, store: await makeStore(cleanup) });
    const fetched = await fetchSession(other, session.id);
    expect(await untilEqual(session, fetched)).toEqual(before);
    expect(fetched.storage.getHeaderJson?.()).toBe(session.storage.getHeaderJson?.());
    expect((await fetched.storage.getEntries()).slice(-3).map(({ id }) => id)).toEqual(ids);
  });

  it("[CL42] somebody else's records that we hold and the relay has otherwise give way as well", async () => {
    const relayStore = await makeStore(cleanup);
    const { relay: old, proxy, session, clientId, victim } = await goOffline(relayStore);
    const readerProxy = await startScriptedProxy(old.url);
    cleanup.add(() => readerProxy.close());
    const store = await makeStore(cleanup);
    const reader = await openDevice(cleanup, { name: "reader", relay: readerProxy.url, store });
    const read = await fetchSession(reader, session.id);
    const before = await readTexts(read);
    expect(before).toHaveLength(2);
    readerProxy.isOpen = false;
    readerProxy.cut();
    await victim.close();
    await proxy.close();
    await old.close();
    const relay = await startRelay(cleanup, await makeStore(cleanup));
    await writeAs(clientId, {
      relay,
      doc: await readRoom(await makeStore(cleanup), session.roomId),
      session,
      count: 2,
      hasKey: false,
    });
    readerProxy.leadTo(relay.url);
    readerProxy.isOpen = true;
    expect(await read.waitUntilAcknowledged(30_000)).toBe(true);
    expect(await readTexts(read)).toEqual(before);
    const other = await openDevice(cleanup, { name: "other", relay: relay.url, store: await makeStore(cleanup) });
    await reader.waitUntilAcknowledged(30_000);
    expect(await untilEqual(read, await fetchSession(other, session.id))).toEqual(before);
  });

  it("[CL42] records of ours that nobody can open are kept aside on the device", async () => {
    const relayStore = await makeStore(cleanup);
    const { relay, proxy, store, session, clientId } = await goOffline(relayStore);
    // Somebody's garbage that this device has and the relay has not: as from a relay that was restored from a backup.
    const log = await store.openLog(session.roomId);
    const doc = await readRoom(store, session.roomId);
    const clockBefore = new Map([...doc.store.clients.keys()].map((client) => [client, 6]));
    doc.clientID = clientId;
    doc.getArray("entries").push([Uint8Array.of(1, 2, 3)]);
    await log.append(Y.encodeStateAsUpdate(doc, Y.encodeStateVector(clockBefore)));
    await log.close();
    await writeAs(clientId, {
      relay,
      doc: await readRoom(relayStore, session.roomId),
      session,
      count: 1,
      hasKey: true,
    });
    await session.close();
    const again = await openDevice(cleanup, { name: "victim", relay: relay.url, store });
    const reopened = await fetchSession(again, session.id);
    expect(await reopened.waitUntilAcknowledged(30_000)).toBe(true);
    expect(reopened.status().setAside).toEqual({ restored: 3, unreadable: 1 });
    const kept = await store.readValue(`unreadable/${session.roomId}`);
    expect(Buffer.from(kept ?? []).includes(Buffer.from([3, 1, 2, 3]))).toBe(true);
    proxy.isOpen = true;
  });

  it("[CL42] taken while we are online: the refusal leads to a look at the relay's records, not to an end", async () => {
    const relayStore = await makeStore(cleanup);
    const { relay, proxy, session, clientId } = await goOffline(relayStore);
    let refusals = 0;
    proxy.onClose = (code) => {
      if (code === 4409) refusals += 1;
    };
    proxy.isOpen = true;
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    // Nothing of what the thief writes is seen here before our own record is on its way.
    proxy.passes = (message, direction) => direction === "up" || message[0] !== 0 || message[1] !== 2;
    await writeAs(clientId, {
      relay,
      doc: await readRoom(relayStore, session.roomId),
      session,
      count: 2,
      hasKey: true,
    });
    const before = await readTexts(session);
    await append(session, "six");
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    expect(refusals).toBe(1);
    expect(session.status()).toMatchObject({ relay: { state: "live" } });
    expect(await readTexts(session)).toHaveLength(before.length + 3);
    const other = await openDevice(cleanup, { name: "other", relay: relay.url, store: await makeStore(cleanup) });
    await untilEqual(session, await fetchSession(other, session.id));
  });

  it("[CL40] taken while our record was lost and the next one was not: its acknowledgement covers neither", async () => {
    const relayStore = await makeStore(cleanup);
    const { relay, proxy, session, clientId } = await goOffline(relayStore);
    proxy.isOpen = true;
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    // Nothing of what the thief writes is handed on to us.
    const isPassed = (message: Uint8Array, direction: string): boolean =>
      direction === "up" || message[0] !== 0 || message[1] !== 2;
    const lost: number[] = [];
    proxy.passes = (message, direction) => {
      const isLost = direction === "up" && message[0] === 0 && message[1] === 2;
      if (isLost) lost.push(message.length);
      return !isLost && isPassed(message, direction);
    };
    await append(session, "six");
    const doc = await readRoom(relayStore, session.roomId);
    await writeAs(clientId, { relay, doc, session, count: 1, hasKey: true });
    expect(lost.length).toBeGreaterThan(0);
    proxy.passes = isPassed;
    const before = await readTexts(session);
    await append(session, "seven");
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    const other = await openDevice(cleanup, { name: "other", relay: relay.url, store: await makeStore(cleanup) });
    const texts = await untilEqual(session, await fetchSession(other, session.id));
    for (const text of before) expect(texts).toContain(text);
  });
});
