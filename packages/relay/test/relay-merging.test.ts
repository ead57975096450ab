import { SessionError, type StoredUpdate } from "@coppice/core";
import { closeCodes, encodeUpdate, maxChunkBytes, parseUpdate } from "@coppice/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import * as Y from "yjs";
import { indexSnapshotName } from "../src/index-snapshot.ts";
import { maxMergedStructs, mergeUpdates } from "../src/merge-updates.ts";
import { MemoryUpdateStore } from "./memory-update-store.ts";
import type { RawClient } from "./raw-client.ts";
import { type RelayFixture, startRelay } from "./relay-fixture.ts";
import { firstBytesOf, recordsOf, replay, Writer } from "./writer.ts";

const log = (store: MemoryUpdateStore): readonly StoredUpdate[] => store.logs.get("room") ?? [];

/** Structs of everything a client was sent. */
function receivedStructs(client: RawClient): string[] {
  return client.received.flatMap((frame) => {
    if (frame.type !== "update" && frame.type !== "syncStep2") return [];
    const parsed = parseUpdate(frame.update);
    if (!parsed.ok) throw new Error(parsed.error);
    return parsed.value.structs.map((struct) => `${struct.client}:${struct.clock}`);
  });
}

async function readRoom(fixture: RelayFixture): Promise<number[]> {
  const reader = await fixture.follower("room");
  const updates = reader.received.flatMap((frame) =>
    frame.type === "update" || frame.type === "syncStep2" ? [frame.update] : [],
  );
  const doc = replay(updates);
  await reader.close();
  return firstBytesOf(doc);
}

/** Settles when the log has at most so many updates; the test's time limit ends a wait in vain. */
async function merged(store: MemoryUpdateStore, count: number): Promise<void> {
  while (log(store).length > count) await new Promise((resolve) => setImmediate(resolve));
}

test("[RL64] small stored updates become few, nothing is lost, and a restart finds all with or without a snapshot", async () => {
  const store = new MemoryUpdateStore();
  const first = await startRelay({ mergeAfterUpdates: 20 }, store);
  const [source, other] = [await first.follower("room"), await first.follower("room")];
  const [nine, ten] = [new Writer(9), new Writer(10)];
  for (let i = 0; i < 300; i += 1) {
    if (i % 3 !== 0) {
      source.sendUpdate(nine.push([i % 256]));
      await source.acknowledged(9, nine.updates.length);
    } else {
      ten.merge(nine.doc);
      other.sendUpdate(ten.push([i % 256]));
      await other.acknowledged(10, ten.updates.length);
      nine.merge(ten.doc);
    }
  }
  await merged(store, 60);
  const expected = firstBytesOf(nine.doc);
  expect(expected).toHaveLength(300);
  expect(await readRoom(first)).toEqual(expected);
  await first.relay.close();
  for (const { update } of log(store)) expect(update.length).toBeLessThanOrEqual(maxChunkBytes);

  const second = await startRelay({}, store);
  expect(await readRoom(second)).toEqual(expected);
  await second.relay.close();
  store.derived.clear();
  const third = await startRelay({}, store);
  expect(await readRoom(third)).toEqual(expected);
});

test("[RL65] a reader that is in the middle of a log that is merged gets everything once", async () => {
  const store = new MemoryUpdateStore();
  const fixture = await startRelay(
    { mergeAfterUpdates: 1_000_000, mergeAfterBytes: 1e9, maxBufferedBytes: 20_000, maxRecentBytes: 10_000 },
    store,
  );
  const writer = new Writer(9);
  const [source, lagging] = [await fixture.follower("room"), await fixture.follower("room")];
  const count = 3_000;
  lagging.socket.pause();
  for (let i = 0; i < count; i += 1) source.sendUpdate(writer.push(new Uint8Array(4_000).fill(i % 256)));
  await source.acknowledged(9, count);
  const newcomer = await fixture.raw("room");
  newcomer.send({ type: "syncStep1", stateVector: new Map([[9, 7]]) });
  await newcomer.takeUpdate();
  newcomer.socket.pause();

  // Somebody else's relay process would merge the same way; here a second one does it under the first one's feet.
  const before = log(store).length;
  const merging = await startRelay({ mergeAfterUpdates: 1 }, store);
  await merging.follower("room");
  await merged(store, before / 10);
  lagging.socket.resume();
  newcomer.socket.resume();
  await lagging.acknowledged(9, count);
  await newcomer.take("syncStep2");
  while (receivedStructs(lagging).length < count) await lagging.nextFrame();
  const all = Array.from({ length: count }, (_, clock) => `9:${clock}`);
  expect(receivedStructs(lagging)).toEqual(all);
  expect(receivedStructs(newcomer)).toEqual(all.slice(7));
});

test("[RL65] a reader keeps its place when all it asked for is merged with what came later before it read anything", async () => {
  const store = new MemoryUpdateStore();
  const fixture = await startRelay({ mergeAfterUpdates: 20 }, store);
  const [source, newcomer] = [await fixture.follower("room"), await fixture.raw("room")];
  const writer = new Writer(9);
  for (let i = 0; i < 10; i += 1) source.sendUpdate(writer.push([i]));
  await source.acknowledged(9, 10);
  let letRead: () => void = () => undefined;
  const hasBegun = new Promise<void>((begin) => {
    store.hooks.beforeRead = () => {
      // Only this one waits: merging reads too.
      delete store.hooks.beforeRead;
      begin();
      return new Promise((resolve) => {
        letRead = resolve;
      });
    };
  });
  newcomer.send({ type: "syncStep1", stateVector: new Map() });
  await hasBegun;
  for (let i = 10; i < 40; i += 1) source.sendUpdate(writer.push([i]));
  await source.acknowledged(9, 40);
  while ((log(store)[0]?.seq ?? 0) <= 10) await source.barrier();
  letRead();
  await newcomer.take("syncStep2");
  while (receivedStructs(newcomer).length < 40) await newcomer.nextFrame();
  expect(receivedStructs(newcomer)).toEqual(Array.from({ length: 40 }, (_, clock) => `9:${clock}`));
});

test("[RL105] a relay that closes merges nothing that it had not begun", async () => {
  const store = new MemoryUpdateStore();
  let merges = 0;
  store.hooks.beforeMerge = async () => {
    merges += 1;
  };
  const fixture = await startRelay({ mergeAfterUpdates: 1_000_000, mergeAfterBytes: 1e9 }, store);
  for (const room of ["one", "two", "three"]) {
    const source = await fixture.follower(room);
    const writer = new Writer(9);
    for (let i = 0; i < 20; i += 1) source.sendUpdate(writer.push([i]));
    await source.acknowledged(9, 20);
  }
  await fixture.relay.close();
  expect(merges).toBe(0);
  expect(store.logs.get("three")).toHaveLength(20);
});

test("[RL65] a snapshot from before a merge is as good as one from after it", async () => {
  const store = new MemoryUpdateStore();
  const patient = { mergeAfterUpdates: 1_000_000, mergeAfterBytes: 1e9 };
  const first = await startRelay({ ...patient, roomIdleMs: 60_000 }, store);
  const source = await first.follower("room");
  const writer = new Writer(9);
  for (let i = 0; i < 2_100; i += 1) source.sendUpdate(writer.push([i % 256]));
  await source.acknowledged(9, 2_100);
  const stale = store.derived.get(`room/${indexSnapshotName}`);
  expect(stale).toBeDefined();
  await first.relay.close();
  const second = await startRelay({ mergeAfterUpdates: 1 }, store);
  await second.follower("room");
  await merged(store, 10);
  await second.relay.close();
  store.derived.set(`room/${indexSnapshotName}`, stale as Uint8Array);

  const third = await startRelay({ mergeAfterUpdates: 4 }, store);
  expect(await readRoom(third)).toEqual(firstBytesOf(writer.doc));
  const again = await third.follower("room");
  // What is known already is compared with what the merged update holds.
  again.sendUpdate(writer.state());
  for (let i = 0; i < 50; i += 1) again.sendUpdate(writer.push([i]));
  await again.acknowledged(9, 2_150);
  await again.close();
  expect(await readRoom(third)).toEqual(firstBytesOf(writer.doc));
});

test("[RL66] without space nothing is merged and the room goes on; a merge that fails otherwise closes it, and it is read anew", async () => {
  const store = new MemoryUpdateStore();
  const fixture = await startRelay({ mergeAfterUpdates: 10 }, store);
  const source = await fixture.follower("room");
  const writer = new Writer(9);
  let attempts = 0;
  store.hooks.beforeMerge = async () => {
    attempts += 1;
    throw new SessionError("storage_full", "no space");
  };
  for (let i = 0; i < 30; i += 1) source.sendUpdate(writer.push([i]));
  await source.acknowledged(9, 30);
  while (attempts === 0) await source.barrier();
  expect(log(store)).toHaveLength(30);
  store.hooks.beforeMerge = async () => {
    throw new SessionError("storage", "the disk is gone");
  };
  for (let i = 30; i < 60; i += 1) source.sendUpdate(writer.push([i]));
  expect((await source.closed).code).toBe(closeCodes.storageFailed);
  delete store.hooks.beforeMerge;
  const again = await fixture.follower("room");
  again.sendUpdate(writer.state());
  await again.acknowledged(9, 60);
  expect(await readRoom(fixture)).toEqual(firstBytesOf(writer.doc));
});

test("[RL66] a damaged stored update is not touched by merging (F44)", async () => {
  const store = new MemoryUpdateStore();
  const writer = new Writer(5);
  const damaged = new Uint8Array([1, 2, 3]);
  const updates = Array.from({ length: 40 }, (_, i) => (i === 20 ? damaged : writer.push([i])));
  store.logs.set(
    "room",
    updates.map((update, index) => ({ seq: index + 1, update })),
  );
  const fixture = await startRelay({ mergeAfterUpdates: 10 }, store);
  const expected = await readRoom(fixture);
  expect(expected).toHaveLength(39);
  await merged(store, 5);
  expect(log(store)).toContainEqual({ seq: 21, update: damaged });
  expect(await readRoom(fixture)).toEqual(expected);
});

test("[RL66] a stored update of which the room holds a part from elsewhere is not merged with others", async () => {
  const store = new MemoryUpdateStore();
  const writer = new Writer(5);
  for (let i = 0; i < 4; i += 1) writer.push([i]);
  const since = (clock: number): Uint8Array =>
    Y.encodeStateAsUpdate(writer.doc, Y.encodeStateVector(new Map([[5, clock]])));
  const cut = (update: Uint8Array, count: number): Uint8Array => {
    const parsed = parseUpdate(update);
    return encodeUpdate(parsed.ok ? parsed.value.structs.slice(0, count) : []);
  };
  // The second one holds again what the first one holds.
  const updates = [cut(since(0), 2), cut(since(1), 2), since(3)].map((update, at) => ({ seq: at + 1, update }));
  store.logs.set("room", updates);
  const seqOf = (_client: number, clock: number): number | undefined => [1, 1, 2, 3][clock];
  const merging = await mergeUpdates(await store.openLog("room"), { from: 2, to: 3 }, seqOf);
  expect(merging.isMerged).toBe(false);
  expect(log(store)).toEqual(updates);
});

test("[RL64] [RL65] any writers, readers, pauses and restarts: everybody ends with everything, each struct sent once", async () => {
  const step = fc.record({
    writer: fc.nat({ max: 3 }),
    bytes: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 60_000 })),
    isMerging: fc.boolean(),
    isRestart: fc.integer({ min: 0, max: 30 }).map((roll) => roll === 0),
  });
  let mergeCount = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), async (steps) => {
      const store = new MemoryUpdateStore();
      store.hooks.beforeMerge = async () => {
        mergeCount += 1;
      };
      const limits = { mergeAfterUpdates: 8, maxRecentBytes: 1_000, maxBufferedBytes: 1_000, roomIdleMs: 0 };
      let fixture = await startRelay(limits, store);
      const writers = [9, 10, 11, 12].map((id) => new Writer(id));
      let source = await fixture.follower("room");
      let reader = await fixture.follower("room");
      const doc = new Y.Doc();
      for (const { writer: at, bytes, isMerging, isRestart } of steps) {
        const writer = writers[at] as Writer;
        if (isMerging) for (const other of writers) writer.merge(other.doc);
        writer.push(new Uint8Array(bytes).fill(at));
        source.sendUpdate(writer.state());
        if (!isRestart) continue;
        await source.acknowledged(writer.doc.clientID, writer.updates.length);
        await fixture.relay.close();
        fixture = await startRelay(limits, store);
        source = await fixture.follower("room");
        reader = await fixture.follower("room");
      }
      for (const writer of writers) {
        source.sendUpdate(writer.state());
        await source.acknowledged(writer.doc.clientID, writer.updates.length);
      }
      const total = writers.reduce((sum, { updates }) => sum + updates.length, 0);
      while (receivedStructs(reader).length < total) await reader.nextFrame();
      const structs = receivedStructs(reader);
      expect(new Set(structs).size).toBe(structs.length);
      expect(structs).toHaveLength(total);
      for (const writer of writers) Y.applyUpdate(doc, writer.state());
      expect(await readRoom(fixture)).toEqual(firstBytesOf(doc));
      expect(recordsOf(doc)).toHaveLength(total);
      await fixture.relay.close();
    }),
    { numRuns: 12 },
  );
  expect(mergeCount).toBeGreaterThan(0);
});

test("[RL64] a merged update of tiny records has at most 2,048 structs, so that no turn of the event loop is long", async () => {
  const store = new MemoryUpdateStore();
  const fixture = await startRelay({}, store);
  const source = await fixture.follower("room");
  const writer = new Writer(9);
  for (let i = 0; i < 6_000; i += 1) source.sendUpdate(writer.push([i % 256]));
  await source.acknowledged(9, 6_000);
  await source.close();
  await merged(store, 20);
  const counts = log(store).map(({ update }) => {
    const parsed = parseUpdate(update, { maxStructs: 10_000, maxClients: 10, maxRecordBytes: 100 });
    return parsed.ok ? parsed.value.structs.length : 0;
  });
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(6_000);
  expect(Math.max(...counts)).toBeLessThanOrEqual(maxMergedStructs);
  expect(await readRoom(fixture)).toEqual(firstBytesOf(writer.doc));
});
