import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionEntry } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { deriveRoomKeys, YjsSessionStorage } from "@coppice/storage-yjs";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import * as prng from "lib0/prng";
import { afterEach, describe, expect, it } from "vitest";
import * as Y from "yjs";
import { Cleanup, fetchSession, makeStore, openDevice, readRoom, startRelay } from "./src/rooms-under-test.ts";
import { openWireClient } from "./src/wire-client.ts";

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

const readSize = async (store: Awaited<ReturnType<typeof makeStore>>, roomId: string): Promise<number> =>
  Y.encodeStateAsUpdate(await readRoom(store, roomId)).length;

describe("what a session grows by", () => {
  it("[CL10] F54: where a device looks and whether it runs, changed thousands of times, adds nothing to the document", async () => {
    const relay = await startRelay(cleanup, await makeStore(cleanup));
    const store = await makeStore(cleanup);
    const a = await openDevice(cleanup, { name: "a", relay: relay.url, store });
    const b = await openDevice(cleanup, { name: "b", relay: relay.url, store: await makeStore(cleanup) });
    const session = await a.createSession({ cwd: "/" });
    await session.session.appendMessage({ role: "user", content: "hello" });
    const watching = await fetchSession(b, session.id);
    await session.waitUntilAcknowledged(30_000);
    const before = await readSize(store, session.roomId);
    for (let change = 0; change < 5_000; change += 1) {
      session.setRunning(change % 2 === 0);
      if (change % 2 === 1) session.follow(`device-${change}`);
    }
    session.setRunning(true);
    await new Promise<void>((resolve) => {
      const check = (): void => {
        if (!watching.getCursors().some(({ running, deviceId }) => running && deviceId === "device-a")) return;
        stop();
        resolve();
      };
      const stop = watching.subscribe(check);
      check();
    });
    session.setRunning(false);
    // What is appended afterwards comes behind all that, so nothing of it is still under way.
    await session.session.appendMessage({ role: "user", content: "hello" });
    await session.waitUntilAcknowledged(30_000);
    const doc = await readRoom(store, session.roomId);
    expect(doc.getArray("entries").length).toBe(3);
    expect(await readSize(store, session.roomId)).toBeLessThan(2 * before);
  });

  it("[RL61] F55: an answer streamed as drafts and then appended leaves at most twice its text", async () => {
    const relayStore = await makeStore(cleanup);
    const relay = await startRelay(cleanup, relayStore);
    const a = await openDevice(cleanup, { name: "a", relay: relay.url, store: await makeStore(cleanup) });
    const session = await a.createSession({ cwd: "/" });
    await session.session.appendMessage({ role: "user", content: "tell me all" });
    await session.waitUntilAcknowledged(30_000);
    const before = await readSize(relayStore, session.roomId);
    const random = prng.create(55);
    const words = Array.from({ length: 20_000 }, () => prng.word(random, 2, 8));
    const text = words.join(" ");
    const open = async () => {
      const client = await openWireClient(`${relay.url}/${session.roomId}`);
      client.send({ type: "ackRequest", version: 1, clients: [] });
      client.send({ type: "syncStep1", stateVector: new Map() });
      await client.next("syncStep2");
      return client;
    };
    const [writer, reader] = [await open(), await open()];
    // As many pieces as the relay takes in a second, each with what is new.
    const pieces = 40;
    for (let at = 0; at < pieces; at += 1) {
      const piece = words.slice((at * words.length) / pieces, ((at + 1) * words.length) / pieces).join(" ");
      const arrived = reader.next("draft");
      writer.send({ type: "draft", sealed: new TextEncoder().encode(piece) });
      expect(new TextDecoder().decode((await arrived).sealed)).toBe(piece);
    }
    for (const client of [writer, reader]) client.socket.close();
    await session.session.appendMessage({ role: "assistant", content: [{ type: "text", text }] });
    await session.waitUntilAcknowledged(30_000);
    const grown = (await readSize(relayStore, session.roomId)) - before;
    expect(grown).toBeGreaterThan(text.length / 10);
    expect(grown).toBeLessThanOrEqual(2 * text.length);
  });

  it("[YS1] F56: entries of 500 devices cost at most 200 bytes each beside their texts", async () => {
    const sessionId = "of-many";
    const keys = deriveRoomKeys(new Uint8Array(32).fill(5), sessionId);
    const open = (doc: Y.Doc, deviceId: string) =>
      YjsSessionStorage.open({ doc, sessionId, keys, crypto: nodeRecordCrypto, deviceId, synced: true });
    const all = new Y.Doc();
    const creator = await open(all, "device-0");
    const timestamp = new Date(0).toISOString();
    await creator.create(JSON.stringify({ type: "session", version: 3, id: sessionId, timestamp, cwd: "/" }));
    await creator.close();
    const beginning = Y.encodeStateAsUpdate(all);
    const devices = 500;
    let textBytes = 0;
    for (let at = 1; at <= devices; at += 1) {
      const doc = new Y.Doc();
      Y.applyUpdate(doc, beginning);
      const storage = await open(doc, `device-${at}`);
      const id = await storage.createEntryId();
      const entry = { type: "message", id, parentId: null, timestamp, message: { role: "user", content: `of ${at}` } };
      await storage.appendEntry(entry as unknown as SessionEntry);
      textBytes += JSON.stringify(entry).length;
      Y.applyUpdate(all, Y.encodeStateAsUpdate(doc, Y.encodeStateVector(all)));
      await storage.close();
    }
    expect(all.getArray("entries").length).toBe(devices + 1);
    expect(all.store.clients.size).toBe(devices + 1);
    expect((Y.encodeStateAsUpdate(all).length - textBytes) / devices).toBeLessThanOrEqual(200);
  });

  it("[CL60, RL64] F58: updates of 4 MB each take less than three times their size on disk, here and at the relay", {
    timeout: 300_000,
  }, async () => {
    const count = Number(process.env.LARGE_UPDATES ?? 5);
    const openFolder = async (name: string) => {
      const folder = await mkdtemp(join(tmpdir(), `coppice-${name}-`));
      cleanup.add(() => rm(folder, { recursive: true, force: true }));
      const store = await openLmdbStore({ path: folder });
      cleanup.add(() => store.close());
      return { store, readBytes: async () => (await stat(join(folder, "data.mdb"))).size };
    };
    const [device, atRelay] = [await openFolder("device"), await openFolder("relay")];
    const relay = await startRelay(cleanup, atRelay.store);
    const a = await openDevice(cleanup, { name: "a", relay: relay.url, store: device.store });
    const session = await a.createSession({ cwd: "/" });
    // Farther apart than deflate looks back.
    const noise = Buffer.from(prng.uint8Array(prng.create(58), 300_000)).toString("base64");
    for (let at = 0; at < count; at += 1) {
      const content = `${at}${noise.repeat(10)}`;
      await session.session.appendMessage({ role: "user", content });
      // Small ones between them give the merging something to do.
      for (let small = 0; small < 20; small += 1) await session.session.appendMessage({ role: "user", content: "ok" });
      expect(await session.waitUntilAcknowledged(60_000)).toBe(true);
    }
    const live = await readSize(device.store, session.roomId);
    expect(live).toBeGreaterThan(count * 3_000_000);
    expect((await device.readBytes()) / live).toBeLessThan(3);
    expect((await atRelay.readBytes()) / live).toBeLessThan(3);
  });
});
