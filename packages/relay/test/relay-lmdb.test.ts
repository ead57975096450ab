import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay } from "@coppice/relay";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import * as Y from "yjs";
import { RawClient } from "./raw-client.ts";
import { buildRelay, makeTempFolder, startRelayProcess } from "./relay-process.ts";
import { openStockClient } from "./stock-client.ts";
import { firstBytesOf, recordsOf, Writer } from "./writer.ts";

beforeAll(buildRelay);

test("[RL19] on real files: stock clients sync, the relay and its store are closed and opened again, everything is there (F34)", async () => {
  const path = await makeTempFolder();
  const write = async (bytes: readonly number[], expected: number): Promise<number[]> => {
    const store = await openLmdbStore({ path });
    const relay = await openRelay({ store, auth: "open" });
    const [a, b] = [openStockClient(relay.url, "room"), openStockClient(relay.url, "room")];
    await Promise.all([a.synced(), b.synced()]);
    for (const byte of bytes) a.push(byte);
    await b.hasRecords(expected);
    const seen = b.firstBytes();
    a.destroy();
    b.destroy();
    await relay.close();
    await store.close();
    return seen;
  };
  expect(await write([1, 2], 2)).toEqual([1, 2]);
  expect(await write([3, 4], 4)).toEqual([1, 2, 3, 4]);
});

test("[RL12] [RL19] killed at any moment, the relay loses nothing that was acknowledged or that anybody has seen", async () => {
  const path = await makeTempFolder();
  const writer = new Writer(5);
  const seen = new Y.Doc();
  const killAfterFrames = fc.sample(fc.integer({ min: 1, max: 60 }), { numRuns: 10, seed: 9 });
  let acknowledged = 0;
  for (const frameCount of killAfterFrames) {
    const relay = await startRelayProcess(path);
    const [sender, reader] = await Promise.all([
      RawClient.open(`${relay.url}/room`),
      RawClient.open(`${relay.url}/room`),
    ]);
    reader.send({ type: "syncStep1", stateVector: new Map() });
    sender.send({ type: "syncStep1", stateVector: new Map() });
    const held = (await sender.take("syncStep1")).stateVector.get(5) ?? 0;
    expect(held).toBeGreaterThanOrEqual(acknowledged);
    expect(held).toBeGreaterThanOrEqual(recordsOf(seen).length);
    sender.send({ type: "ackRequest", version: 1, clients: [5] });
    sender.send({ type: "syncStep2", update: Y.encodeStateAsUpdate(writer.doc, Y.encodeStateVector(seen)) });
    for (let i = 0; i < 100; i += 1) sender.sendUpdate(writer.push([recordsOf(writer.doc).length % 256]));
    while (sender.received.length + reader.received.length < frameCount) {
      await Promise.race([sender.nextFrame(), reader.nextFrame()]);
    }
    await relay.kill();
    await Promise.all([sender.closed, reader.closed]);
    for (const frame of sender.received) {
      if (frame.type === "ack") for (const { clock } of frame.pairs) acknowledged = Math.max(acknowledged, clock);
    }
    for (const frame of reader.received) {
      if (frame.type === "update" || frame.type === "syncStep2") Y.applyUpdate(seen, frame.update);
    }
    expect(seen.store.pendingStructs).toBeNull();
  }
  expect(acknowledged).toBeGreaterThan(0);

  const relay = await startRelayProcess(path);
  const sender = await RawClient.open(`${relay.url}/room`);
  sender.send({ type: "syncStep2", update: writer.state() });
  const total = recordsOf(writer.doc).length;
  await sender.acknowledged(5, total);
  const doc = new Y.Doc();
  const reader = await RawClient.open(`${relay.url}/room`);
  reader.send({ type: "syncStep1", stateVector: new Map() });
  while (recordsOf(doc).length < total) Y.applyUpdate(doc, await reader.takeUpdate());
  expect(firstBytesOf(doc)).toEqual(firstBytesOf(writer.doc));
});
