import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { closeCodes, deriveRoomId } from "@coppice/wire";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import * as Y from "yjs";
import { indexSnapshotName } from "../src/index-snapshot.ts";
import { RawClient } from "./raw-client.ts";
import { buildRelay, makeTempFolder, startRelayProcess } from "./relay-process.ts";
import { firstBytesOf, recordsOf, Writer } from "./writer.ts";

const rounds = 10;
const seed = 4;

beforeAll(buildRelay);

/** Merging begins after few updates, and rooms leave memory (which merges them and writes their index) at once. */
const eagerLimits = { mergeAfterUpdates: 8, roomIdleMs: 0 };

/** Reads a room as a new device does. */
async function readRoom(url: string, count: number): Promise<Y.Doc> {
  const doc = new Y.Doc();
  const reader = await RawClient.open(url);
  reader.send({ type: "syncStep1", stateVector: new Map() });
  while (recordsOf(doc).length < count) Y.applyUpdate(doc, await reader.takeUpdate());
  expect(doc.store.pendingStructs).toBeNull();
  await reader.close();
  return doc;
}

/** Number of updates in the log of a store that nobody has open, and whether its index was kept. */
async function inspectLog(path: string, room: string): Promise<{ count: number; hasSnapshot: boolean }> {
  const store = await openLmdbStore({ path });
  const log = await store.openLog(room);
  let count = 0;
  for await (const _ of log.read()) count += 1;
  const hasSnapshot = (await log.readDerived(indexSnapshotName)) !== undefined;
  await store.close();
  return { count, hasSnapshot };
}

test("[RL74] killed while it writes and merges, the relay loses nothing acknowledged and every room reads back whole", async () => {
  const path = await makeTempFolder();
  const writer = new Writer(5);
  let acknowledged = 0;
  let mergedRounds = 0;
  let snapshotRounds = 0;
  const moments = fc.sample(fc.integer({ min: 30, max: 250 }), { numRuns: rounds, seed });
  for (const [round, untilAcknowledged] of moments.entries()) {
    const relay = await startRelayProcess(path, 0, eagerLimits);
    const url = `${relay.url}/room`;
    const sender = await RawClient.open(url);
    sender.send({ type: "syncStep1", stateVector: new Map() });
    const held = (await sender.take("syncStep1")).stateVector.get(5) ?? 0;
    expect(held).toBeGreaterThanOrEqual(acknowledged);
    const total = recordsOf(writer.doc).length;
    if (held > 0) {
      const read = firstBytesOf(await readRoom(url, held));
      expect(read).toEqual(firstBytesOf(writer.doc).slice(0, held));
    }
    // What was not durable comes again, the rest one by one, so that there is always something small to merge.
    sender.send({ type: "syncStep2", update: writer.state() });
    await sender.acknowledged(5, total);
    for (let i = 0; i < 300; i += 1) sender.sendUpdate(writer.push(new Uint8Array(500).fill((total + i) % 256)));
    await sender.acknowledged(5, total + untilAcknowledged);
    if (round % 4 === 1) {
      // The other rounds end while there is work; this one once the room has left memory.
      await sender.close();
      while (!(await inspectLog(path, "room")).hasSnapshot) await nextTurn();
    }
    await relay.kill();
    await sender.closed;
    for (const frame of sender.received) {
      if (frame.type === "ack") for (const { clock } of frame.pairs) acknowledged = Math.max(acknowledged, clock);
    }
    const { count, hasSnapshot } = await inspectLog(path, "room");
    if (count < acknowledged / 2) mergedRounds += 1;
    if (hasSnapshot) snapshotRounds += 1;
  }
  expect(mergedRounds).toBeGreaterThan(2);
  expect(snapshotRounds).toBeGreaterThan(0);
}, 120_000);

test("[RL74] killed while a room is deleted, there is the whole room afterwards or none of it", async () => {
  const path = await makeTempFolder();
  const secretOf = (round: number): Uint8Array => new Uint8Array(32).fill(round + 1);
  const roomOf = (round: number): string =>
    deriveRoomId(secretOf(round), (bytes) => createHash("sha256").update(bytes).digest());
  const outcomes = new Set<string>();
  for (let round = 0; round < rounds; round += 1) {
    const relay = await startRelayProcess(path, 0, eagerLimits);
    const writer = new Writer(5);
    const owner = await RawClient.open(`${relay.url}/${roomOf(round)}`);
    for (let i = 0; i < 100; i += 1) owner.sendUpdate(writer.push(new Uint8Array(2_000).fill(i)));
    await owner.acknowledged(5, 100);
    owner.send({ type: "deleteRoom", secret: secretOf(round) });
    // From before the deletion has arrived to after it has been told.
    if (round % 2 === 1) await owner.closed;
    else for (let turn = 0; turn < round * 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    await relay.kill();
    const isTold = (await owner.closed).code === closeCodes.roomDeleted;

    const again = await startRelayProcess(path, 0, eagerLimits);
    const url = `${again.url}/${roomOf(round)}`;
    const visitor = await RawClient.open(url);
    visitor.send({ type: "syncStep1", stateVector: new Map() });
    const found = await Promise.race([visitor.take("syncStep1").catch(() => undefined), visitor.closed]);
    if (found === undefined || "code" in found) {
      outcomes.add("deleted");
      expect((await visitor.closed).code).toBe(closeCodes.roomDeleted);
      expect(visitor.received).toEqual([]);
    } else {
      outcomes.add("whole");
      expect(isTold).toBe(false);
      expect(found.stateVector).toEqual(new Map([[5, 100]]));
      expect(firstBytesOf(await readRoom(url, 100))).toEqual(firstBytesOf(writer.doc));
    }
    await again.kill();
    if (outcomes.has("deleted") && isTold) expect((await inspectLog(path, roomOf(round))).count).toBe(0);
  }
  expect(outcomes).toContain("deleted");
}, 120_000);
