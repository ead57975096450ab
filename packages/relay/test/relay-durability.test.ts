import { closeCodes, maxChunkBytes } from "@coppice/wire";
import { expect, test } from "vitest";
import * as Y from "yjs";
import { MemoryUpdateStore } from "./memory-update-store.ts";
import { RawClient } from "./raw-client.ts";
import { startRelay } from "./relay-fixture.ts";
import { firstBytesOf, recordsOf, replay, Writer } from "./writer.ts";

test("[RL19] after a restart on the same store everything is there and clients go on where they were", async () => {
  const store = new MemoryUpdateStore();
  const first = await startRelay({}, store);
  const { port } = first.relay;
  const [a, b] = [first.stock("room"), first.stock("room")];
  await Promise.all([a.synced(), b.synced()]);
  for (let i = 0; i < 20; i += 1) (i % 2 === 0 ? a : b).push(i);
  await Promise.all([a.hasRecords(20), b.hasRecords(20)]);
  await first.relay.close();
  a.push(20);

  const second = await startRelay({}, store, port);
  await Promise.all([a.synced(), b.synced(), b.hasRecords(21)]);
  b.push(21);
  await a.hasRecords(22);
  const newcomer = second.stock("room");
  await newcomer.hasRecords(22);
  expect(newcomer.firstBytes()).toEqual(a.firstBytes());
  expect(b.firstBytes()).toEqual(a.firstBytes());
  expect(a.firstBytes().toSorted((left, right) => left - right)).toEqual(Array.from({ length: 22 }, (_, i) => i));
});

test("[RL19] closing waits for what is on its way to the disk, acknowledges it, tells every client to come again, and may be done twice (F25)", async () => {
  const { relay, store, raw, follower } = await startRelay({ closeGraceMs: 60_000 });
  const idle = await follower("other");
  const sender = await raw("room");
  let letCommit = (): void => {};
  const committing = new Promise<void>((resolve) => {
    letCommit = resolve;
  });
  store.hooks.beforeCommit = () => committing;
  const writer = new Writer(5);
  sender.sendUpdate(writer.push([1]));
  await sender.barrier();
  let isClosed = false;
  const closing = relay.close().then(() => {
    isClosed = true;
  });
  const late = new RawClient(`${relay.url}/room`);
  expect((await late.closed).code).toBe(1006);
  // What comes now is not taken: nobody could be sure that it is kept.
  sender.sendUpdate(writer.push([2]));
  expect(isClosed).toBe(false);
  letCommit();
  expect((await sender.closed).code).toBe(1001);
  expect((await idle.closed).code).toBe(1001);
  expect(sender.received.filter(({ type }) => type === "ack")).toMatchObject([{ pairs: [{ client: 5, clock: 1 }] }]);
  await Promise.all([closing, relay.close()]);
  expect(store.logs.get("room")).toHaveLength(1);
});

test("[RL19] a disk that hangs holds up closing for the grace time only, as far as clients are concerned", async () => {
  const { relay, store, raw } = await startRelay({ closeGraceMs: 20 });
  const sender = await raw("room");
  let letCommit = (): void => {};
  store.hooks.beforeCommit = () =>
    new Promise((resolve) => {
      letCommit = resolve;
    });
  sender.sendUpdate(new Writer(5).push([1]));
  await sender.barrier();
  const closing = relay.close();
  expect((await sender.closed).code).toBe(1001);
  letCommit();
  await closing;
});

test("[RL19] a client that does not answer the close frame cannot hold up closing", async () => {
  const { relay, raw } = await startRelay({ closeGraceMs: 20 });
  const client = await raw("room");
  client.socket.pause();
  await relay.close();
  expect(relay.readStats().connections).toBe(0);
});

test("[RL14] a failed write closes the connections of its room with 4500, is not acknowledged, and other rooms go on (F37)", async () => {
  const { store, raw, follower } = await startRelay();
  const other = await follower("other");
  const [sender, witness] = [await raw("room"), await follower("room")];
  const writer = new Writer(5);
  sender.sendUpdate(writer.push([1]));
  await sender.acknowledged(5, 1);
  await witness.take("update");
  store.hooks.beforeCommit = async (log) => {
    if (log === "room") throw new Error("disk full");
  };
  sender.sendUpdate(writer.push([2]));
  expect((await sender.closed).code).toBe(closeCodes.storageFailed);
  expect((await witness.closed).code).toBe(closeCodes.storageFailed);
  expect(sender.received.flatMap((frame) => (frame.type === "ack" ? frame.pairs : []))).not.toContainEqual(
    expect.objectContaining({ clock: 2 }),
  );
  expect(witness.received.filter(({ type }) => type === "update")).toHaveLength(1);
  const otherWriter = new Writer(6);
  other.sendUpdate(otherWriter.push([1]));
  await other.acknowledged(6, 1);

  store.hooks.beforeCommit = async () => {};
  const again = await raw("room");
  again.send({ type: "syncStep1", stateVector: new Map() });
  expect((await again.take("syncStep1")).stateVector).toEqual(new Map([[5, 1]]));
  again.send({ type: "syncStep2", update: writer.state() });
  await again.acknowledged(5, 2);
});

test("[RL14] [RL27] a write that succeeded behind a failed one is no hole in the room: it counts as absent until it comes again (F14)", async () => {
  const { store, raw } = await startRelay();
  const writer = new Writer(5);
  const sender = await raw("room");
  sender.sendUpdate(writer.push([1]));
  await sender.acknowledged(5, 1);
  let commits = 0;
  let letFail = (): void => {};
  const failing = new Promise<void>((resolve) => {
    letFail = resolve;
  });
  store.hooks.beforeCommit = async () => {
    commits += 1;
    if (commits > 1) return;
    await failing;
    throw new Error("disk full");
  };
  sender.sendUpdate(writer.push([2]));
  await sender.barrier();
  sender.sendUpdate(writer.push([3]));
  await sender.barrier();
  letFail();
  expect((await sender.closed).code).toBe(closeCodes.storageFailed);

  const again = await raw("room");
  again.send({ type: "syncStep1", stateVector: new Map() });
  expect(firstBytesOf(replay([(await again.take("syncStep2")).update]))).toEqual([1]);
  expect(store.logs.get("room")).toHaveLength(2);
  again.send({ type: "syncStep2", update: writer.state() });
  await again.acknowledged(5, 3);
  const reader = await raw("room");
  reader.send({ type: "syncStep1", stateVector: new Map() });
  expect(firstBytesOf(replay([(await reader.take("syncStep2")).update]))).toEqual([1, 2, 3]);
});

test("[RL15] a room that cannot be read is refused with 4500, its bytes stay as they are, and the next connection tries again (F22)", async () => {
  const { store, raw, follower, relay } = await startRelay({ roomIdleMs: 0 });
  const writer = new Writer(5);
  const source = await follower("room");
  source.sendUpdate(writer.push([1]));
  await source.acknowledged(5, 1);
  await source.close();
  while (relay.readStats().rooms > 0) await new Promise((resolve) => setImmediate(resolve));
  const stored = structuredClone(store.logs.get("room"));

  for (const hook of ["beforeRead", "beforeOpen"] as const) {
    store.hooks[hook] = () => Promise.reject(new Error("cannot read"));
    const unlucky = await raw("room");
    unlucky.sendUpdate(new Writer(6).push([9]));
    expect((await unlucky.closed).code).toBe(closeCodes.storageFailed);
    expect(store.logs.get("room")).toEqual(stored);
    store.hooks[hook] = async () => {};
  }
  const lucky = await raw("room");
  lucky.send({ type: "syncStep1", stateVector: new Map() });
  expect(firstBytesOf(replay([(await lucky.take("syncStep2")).update]))).toEqual([1]);
});

test("[RL15] a read that fails while a client catches up closes that client with 4500 and no other", async () => {
  const { store, raw, follower } = await startRelay();
  const writer = new Writer(5);
  const source = await follower("room");
  source.sendUpdate(writer.push([1]));
  await source.acknowledged(5, 1);
  store.hooks.beforeRead = () => Promise.reject(new Error("cannot read"));
  const unlucky = await raw("room");
  unlucky.send({ type: "syncStep1", stateVector: new Map() });
  expect((await unlucky.closed).code).toBe(closeCodes.storageFailed);
  source.sendUpdate(writer.push([2]));
  await source.acknowledged(5, 2);
});

test("[RL27] a damaged stored update is left out and never served; what does not need it is there", async () => {
  const store = new MemoryUpdateStore();
  const writer = new Writer(5);
  const other = new Writer(6);
  const updates = [writer.push([1]), new Uint8Array([1, 2, 3]), writer.push([2]), other.push([3]), new Uint8Array()];
  store.logs.set(
    "room",
    updates.map((update, index) => ({ seq: index + 1, update })),
  );
  const { raw } = await startRelay({}, store);
  const reader = await raw("room");
  reader.send({ type: "syncStep1", stateVector: new Map() });
  const doc = replay([(await reader.take("syncStep2")).update]);
  expect(firstBytesOf(doc).toSorted()).toEqual([1, 2, 3]);
});

test("[RL20] a room without connections leaves memory, is read again when it is needed, and one that comes back in time is kept (F24, F27)", async () => {
  const { relay, store, raw } = await startRelay({ roomIdleMs: 0 });
  for (let i = 0; i < 50; i += 1) {
    const client = await raw(`room-${i}`);
    client.sendUpdate(new Writer(5).push([i]));
    await client.acknowledged(5, 1);
    await client.close();
  }
  while (relay.readStats().rooms > 0) await new Promise((resolve) => setImmediate(resolve));
  const again = await raw("room-7");
  again.send({ type: "syncStep1", stateVector: new Map() });
  expect(firstBytesOf(replay([(await again.take("syncStep2")).update]))).toEqual([7]);
  expect(store.openCount).toBe(51);

  const patient = await startRelay({ roomIdleMs: 60_000 });
  await (await patient.follower("room")).close();
  await patient.follower("room");
  expect(patient.store.openCount).toBe(1);
});

test("[RL18] a slow reader lags, is served from disk later, misses nothing, and does not hold up the others (F52)", async () => {
  const { follower } = await startRelay({ maxBufferedBytes: 100_000, maxRecentBytes: 200_000 });
  const writer = new Writer(5);
  const [source, fast, slow] = [await follower("room"), await follower("room"), await follower("room")];
  slow.socket.pause();
  const count = 300;
  for (let i = 0; i < count; i += 1) {
    source.sendUpdate(writer.push(new Uint8Array(50_000).fill(i % 256)));
    await fast.take("update");
  }
  slow.socket.resume();
  const doc = new Y.Doc();
  let frameCount = 0;
  while (recordsOf(doc).length < count) {
    Y.applyUpdate(doc, await slow.takeUpdate());
    expect(doc.store.pendingStructs).toBeNull();
    frameCount += 1;
  }
  expect(firstBytesOf(doc)).toEqual(Array.from({ length: count }, (_, i) => i % 256));
  // From disk many updates come in one frame.
  expect(frameCount).toBeLessThan(count);
});

test("[RL18] what waits for a reader that reads nothing is bounded, however much is written and asked for", async () => {
  const maxBufferedBytes = 100_000;
  const { relay, follower } = await startRelay({ maxBufferedBytes, maxRecentBytes: 200_000 });
  const writer = new Writer(5);
  const [source, slow] = [await follower("room"), await follower("room")];
  slow.socket.pause();
  for (let i = 0; i < 200; i += 1) {
    source.sendUpdate(writer.push(new Uint8Array(50_000)));
    slow.send({ type: "syncStep1", stateVector: new Map() });
    slow.send({ type: "queryAwareness" });
    slow.send({ type: "unknownExtension", subType: 9, payload: new Uint8Array() });
  }
  await source.acknowledged(5, 200);
  const { largestBacklogBytes } = relay.readStats();
  expect(largestBacklogBytes).toBeGreaterThan(maxBufferedBytes);
  expect(largestBacklogBytes).toBeLessThan(maxBufferedBytes + 2 * maxChunkBytes);
});

test("[RL18] F51: while a large room is opened and sent for the first time, others are answered again and again", async () => {
  const store = new MemoryUpdateStore();
  const writer = new Writer(5);
  const entries = writer.doc.getArray("entries");
  for (let batch = 0; batch < 400; batch += 1) {
    entries.push(Array.from({ length: 1_000 }, (_, at) => new Uint8Array(40).fill(at)));
  }
  store.logs.set(
    "large",
    writer.updates.map((update, index) => ({ seq: index + 1, update })),
  );
  const { raw } = await startRelay({}, store);
  const other = await raw("other");
  await other.barrier();
  const newcomer = await raw("large");
  newcomer.send({ type: "syncStep1", stateVector: new Map() });
  let isComplete = false;
  const complete = newcomer.take("syncStep2").then(() => {
    isComplete = true;
  });
  let answered = 0;
  while (!isComplete) {
    await other.barrier();
    answered += 1;
  }
  await complete;
  const updates = newcomer.received.flatMap((frame) => ("update" in frame ? [frame.update] : []));
  expect(recordsOf(replay(updates))).toHaveLength(400_000);
  // Some thirty times here; a relay that reads the room in one go answers six times, while it sends.
  expect(answered).toBeGreaterThan(9);
});
