import { maxChunkBytes, parseUpdate } from "@coppice/wire";
import { expect, test } from "vitest";
import * as Y from "yjs";
import { startRelay } from "./relay-fixture.ts";
import { firstBytesOf, recordsOf, replay, Writer } from "./writer.ts";

test("[RL16] [RL17] two stock y-websocket clients sync, and what one appends arrives at the other", async () => {
  const { stock } = await startRelay();
  const a = stock("room");
  a.push(1);
  await a.synced();
  const b = stock("room");
  await b.synced();
  await b.hasRecords(1);
  b.push(2);
  await a.hasRecords(2);
  a.push(3);
  await b.hasRecords(3);
  expect(a.firstBytes()).toEqual([1, 2, 3]);
  expect(b.firstBytes()).toEqual([1, 2, 3]);
});

test("[RL16] what was appended offline is asked for and arrives, though nothing is appended after (F1)", async () => {
  const { stock } = await startRelay();
  const a = stock("room");
  const b = stock("room");
  await Promise.all([a.synced(), b.synced()]);
  a.provider.disconnect();
  a.push(1);
  a.push(2);
  a.push(3);
  a.provider.connect();
  await b.hasRecords(3);
  expect(b.firstBytes()).toEqual([1, 2, 3]);
});

test("[RL16] after both wrote while one was away, both have everything in one order (F8)", async () => {
  const { stock } = await startRelay();
  const a = stock("room");
  const b = stock("room");
  await Promise.all([a.synced(), b.synced()]);
  a.push(1);
  await b.hasRecords(1);
  a.provider.disconnect();
  a.push(2);
  b.push(3);
  a.push(4);
  a.provider.connect();
  await Promise.all([a.hasRecords(4), b.hasRecords(4)]);
  expect(a.firstBytes()).toEqual(b.firstBytes());
  expect(a.firstBytes().toSorted()).toEqual([1, 2, 3, 4]);
});

test("[RL16] SyncStep1 is answered with the missing part in chunks, then SyncStep2, then the relay's own SyncStep1, then cursors (F50)", async () => {
  const { raw, follower } = await startRelay();
  const writer = new Writer(5);
  const source = await follower("room");
  for (let i = 0; i < 40; i += 1) source.sendUpdate(writer.push(new Uint8Array(50_000).fill(i)));
  source.send({ type: "awareness", states: [{ client: 5, clock: 1, state: '{"name":"a"}' }] });
  await source.acknowledged(5, 40);
  const reader = await raw("room");
  reader.send({ type: "syncStep1", stateVector: new Map([[5, 10]]) });
  await reader.take("awareness");
  const types = reader.received.map(({ type }) => type);
  const updates = reader.received.flatMap((frame) =>
    frame.type === "update" || frame.type === "syncStep2" ? [frame.update] : [],
  );
  expect(types).toEqual([...updates.slice(1).map(() => "update"), "syncStep2", "syncStep1", "awareness"]);
  expect(updates.length).toBeGreaterThan(3);
  const clocks: number[] = [];
  for (const update of updates) {
    expect(update.length).toBeLessThanOrEqual(maxChunkBytes);
    const parsed = parseUpdate(update);
    if (!parsed.ok) throw new Error(parsed.error);
    clocks.push(...parsed.value.structs.map(({ clock }) => clock));
  }
  expect(clocks).toEqual(Array.from({ length: 30 }, (_, index) => index + 10));
  expect(reader.received.at(-2)).toEqual({ type: "syncStep1", stateVector: new Map([[5, 40]]) });
});

test("[RL16] a reader that has everything gets an empty SyncStep2", async () => {
  const { raw, follower } = await startRelay();
  const writer = new Writer(5);
  const source = await follower("room");
  source.sendUpdate(writer.push([1]));
  await source.acknowledged(5, 1);
  const reader = await raw("room");
  reader.send({ type: "syncStep1", stateVector: new Map([[5, 1]]) });
  expect(await reader.take("syncStep2")).toEqual({ type: "syncStep2", update: new Uint8Array([0, 0]) });
});

test("[RL16] a record larger than a chunk travels alone", async () => {
  const { follower, raw } = await startRelay();
  const writer = new Writer(5);
  const source = await follower("room");
  source.sendUpdate(writer.push([1]));
  source.sendUpdate(writer.push(new Uint8Array(3 * maxChunkBytes).fill(2)));
  source.sendUpdate(writer.push([3]));
  await source.acknowledged(5, 3);
  const reader = await raw("room");
  reader.send({ type: "syncStep1", stateVector: new Map() });
  const last = await reader.take("syncStep2");
  const updates = reader.received.flatMap((frame) => (frame.type === "update" ? [frame.update] : []));
  const doc = replay([...updates, last.update]);
  expect(recordsOf(doc).map((record) => record.length)).toEqual([1, 3 * maxChunkBytes, 1]);
});

test("[RL17] a follower gets every update once and in order, the sender none of its own, and nobody anything before SyncStep1", async () => {
  const { raw, follower } = await startRelay();
  const silent = await raw("room");
  const [a, b] = [await follower("room"), await follower("room")];
  const [writerA, writerB] = [new Writer(5), new Writer(6)];
  const count = 50;
  for (let i = 0; i < count; i += 1) {
    a.sendUpdate(writerA.push([i]));
    b.sendUpdate(writerB.push([100 + i]));
  }
  const takeAll = async (client: typeof a): Promise<Uint8Array[]> => {
    const updates: Uint8Array[] = [];
    while (updates.length < count) updates.push((await client.take("update")).update);
    return updates;
  };
  const [atA, atB] = await Promise.all([takeAll(a), takeAll(b)]);
  expect(atA).toEqual(writerB.updates);
  expect(atB).toEqual(writerA.updates);
  await Promise.all([a.acknowledged(5, count), b.acknowledged(6, count)]);
  await Promise.all([a.barrier(), b.barrier(), silent.barrier()]);
  expect(a.received.filter(({ type }) => type === "update")).toHaveLength(count);
  expect(b.received.filter(({ type }) => type === "update")).toHaveLength(count);
  expect(silent.received.map(({ type }) => type)).toEqual(["refused"]);
});

test("[RL9] structs of an earlier client id are taken from anybody who has them", async () => {
  const { raw, follower } = await startRelay();
  const earlier = new Writer(111);
  earlier.push([1]);
  earlier.push([2]);
  const successor = new Writer(222);
  successor.merge(earlier.doc);
  successor.push([3]);
  const witness = await follower("room");
  const sender = await raw("room");
  sender.send({ type: "syncStep2", update: successor.state() });
  const { update } = await witness.take("update");
  expect(firstBytesOf(replay([update]))).toEqual([1, 2, 3]);
});

test("[RL8] an honest SyncStep2 whose origins point to later sections is taken", async () => {
  const { raw, follower } = await startRelay();
  const [low, high] = [new Writer(10), new Writer(20)];
  for (let i = 0; i < 10; i += 1) {
    low.push([2 * i]);
    high.merge(low.doc);
    high.push([2 * i + 1]);
    low.merge(high.doc);
  }
  const witness = await follower("room");
  const sender = await raw("room");
  sender.send({ type: "syncStep2", update: low.state() });
  const { update } = await witness.take("update");
  expect(firstBytesOf(replay([update]))).toEqual(Array.from({ length: 20 }, (_, index) => index));
});

test("[RL5] frames sent at once after the upgrade wait for a room that loads slowly, and the client becomes synced (F3)", async () => {
  const { stock, store } = await startRelay();
  let letOpen = (): void => {};
  const opened = new Promise<void>((resolve) => {
    letOpen = resolve;
  });
  store.hooks.beforeOpen = () => opened;
  const a = stock("room");
  a.push(1);
  await new Promise<void>((resolve) => a.provider.once("status", () => resolve()));
  a.push(2);
  letOpen();
  await a.synced();
  const b = stock("room");
  await b.hasRecords(2);
  expect(b.firstBytes()).toEqual([1, 2]);
});

test("[RL5] frames of one connection are handled in order whatever the disk does meanwhile (F18)", async () => {
  const { follower, raw, store } = await startRelay();
  const witness = await follower("room");
  const writer = new Writer(5);
  const sender = await raw("room");
  let turns = 0;
  const slowly = async (): Promise<void> => {
    turns = (turns + 3) % 7;
    for (let i = 0; i < turns; i += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  store.hooks.beforeCommit = slowly;
  store.hooks.beforeRead = slowly;
  for (let i = 0; i < 30; i += 1) {
    sender.sendUpdate(writer.push([i]));
    // Re-sending all makes the relay compare with what is on disk in between.
    if (i % 5 === 4) sender.send({ type: "syncStep2", update: writer.state() });
  }
  const updates: Uint8Array[] = [];
  while (updates.length < 30) updates.push((await witness.take("update")).update);
  expect(firstBytesOf(replay(updates))).toEqual(Array.from({ length: 30 }, (_, index) => index));
});

test("[RL17] a reader that syncs while others write misses nothing and gets nothing too early", async () => {
  const { follower, raw } = await startRelay();
  const writer = new Writer(5);
  const source = await follower("room");
  const push = (i: number): void => source.sendUpdate(writer.push(new Uint8Array(20_000).fill(i)));
  for (let i = 0; i < 50; i += 1) push(i);
  await source.acknowledged(5, 50);
  const reader = await raw("room");
  reader.send({ type: "syncStep1", stateVector: new Map() });
  for (let i = 50; i < 100; i += 1) push(i);
  const doc = new Y.Doc();
  while (recordsOf(doc).length < 100) {
    Y.applyUpdate(doc, await reader.takeUpdate());
    expect(doc.store.pendingStructs).toBeNull();
  }
  expect(firstBytesOf(doc)).toEqual(Array.from({ length: 100 }, (_, index) => index));
});
