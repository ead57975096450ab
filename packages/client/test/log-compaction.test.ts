import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UpdateLog, UpdateStore } from "@coppice/core";
import { Slices } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { afterEach, describe, expect, it } from "vitest";
import * as Y from "yjs";
import { isSmall, planMerge, type StoredSize } from "../src/merge-plan.ts";
import { mergeVerified } from "../src/merge-updates.ts";
import { Replica } from "../src/replica.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-client-"));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openStore(folder: string): Promise<UpdateStore> {
  const store = await openLmdbStore({ path: folder });
  closing.push(() => store.close());
  return store;
}

async function openReplica(
  store: UpdateStore,
  { wrap = (log: UpdateLog) => log, merges = true } = {},
): Promise<Replica> {
  const arrivals = {
    read: () => store.readValue("arrivals"),
    write: (arrivals: Uint8Array) => store.writeValue("arrivals", arrivals),
  };
  const log = wrap(await store.openLog("room"));
  const replica = await Replica.open({ log, roomId: "room", ...(merges ? { arrivals } : {}) });
  closing.push(() => replica.close());
  return replica;
}

/** One update per record, each of some bytes of its own. */
async function write(replica: Replica, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at++) replica.doc.getArray("entries").push([recordOf(at)]);
  await replica.flushed();
}

function recordOf(number: number): Uint8Array {
  return new Uint8Array(400).fill(number & 0xff).fill(number >> 8, 1, 2);
}

async function readLog(store: UpdateStore): Promise<Uint8Array[]> {
  const log = await store.openLog("room");
  const updates: Uint8Array[] = [];
  for await (const { update } of log.read()) updates.push(update);
  await log.close();
  return updates;
}

function recordsOf(replica: Replica): unknown[] {
  return replica.doc.getArray("entries").toArray();
}

/** The records of a replica as they arrived. */
function arrivedOf({ doc, arrivals }: Replica): unknown[] {
  const items: Y.Item[] = [];
  for (let item = doc.getArray("entries")._start; item !== null; item = item.right) items.push(item);
  return arrivals
    .sort(items, ({ id }) => ({ clientId: id.client, clock: id.clock }))
    .map(({ content }) => content.getContent()[0]);
}

/** Opens the room until its log has at most so many updates; merging goes on in the background of an open replica. */
async function openUntilMerged(store: UpdateStore, most: number): Promise<Replica> {
  const replica = await openReplica(store);
  while ((await readLog(store)).length > most) await new Promise((resolve) => setImmediate(resolve));
  return replica;
}

describe("merging the local log", () => {
  it("[CL60] many small updates become few chunks that load as the same document", async () => {
    const store = await openStore(await makeFolder());
    const writer = await openReplica(store);
    await write(writer, 0, 600);
    const records = recordsOf(writer);
    await writer.close();
    const merging = await openUntilMerged(store, 130);
    expect(recordsOf(merging)).toEqual(records);
    await merging.close();
    const reopened = await openReplica(store);
    expect(recordsOf(reopened)).toEqual(records);
    await write(reopened, 600, 601);
    expect(recordsOf(reopened)).toHaveLength(601);
  });

  it("[CL60] no byte is merged again and again, and large updates are left alone", () => {
    const sizes: StoredSize[] = [];
    let written = 0;
    let merges = 0;
    for (let seq = 1; seq <= 40_000; seq++) {
      sizes.push({ seq, bytes: seq % 5_000 === 0 ? 4_200_000 : 1_000 + (seq % 7) * 100 });
      for (let plan = planMerge(sizes); plan !== undefined; plan = planMerge(sizes)) {
        const merged = sizes.slice(plan.start, plan.end);
        const bytes = merged.reduce((sum, size) => sum + size.bytes, 0);
        expect(bytes).toBeLessThan(4_200_000 + 600_000);
        expect(merged.every((size) => size.bytes < 4_200_000)).toBe(true);
        sizes.splice(plan.start, merged.length, { seq: merged.at(-1)?.seq ?? 0, bytes });
        written += bytes;
        merges++;
      }
    }
    const smallBytes = sizes.reduce((sum, { bytes }) => sum + (bytes === 4_200_000 ? 0 : bytes), 0);
    expect(merges).toBeGreaterThan(100);
    expect(written / smallBytes).toBeLessThan(4);
    expect(sizes.length).toBeLessThan(40_000 / 100);
    expect(planMerge(Array.from({ length: 100 }, (_, seq) => ({ seq, bytes: 4_300_000 })))).toBeUndefined();
    expect([isSmall(64 * 1024 - 1), isSmall(64 * 1024)]).toEqual([true, false]);
  });

  it("[CL61] what waits for its predecessors is not lost (F15)", async () => {
    const store = await openStore(await makeFolder());
    const other = new Y.Doc();
    const updates: Uint8Array[] = [];
    other.on("update", (update: Uint8Array) => updates.push(update));
    for (let at = 0; at < 400; at++) other.getArray("entries").push([recordOf(at)]);
    const log = await store.openLog("room");
    await Promise.all(updates.filter((_, at) => at !== 100).map((update) => log.append(update)));
    await log.close();
    const merging = await openUntilMerged(store, 130);
    expect(recordsOf(merging)).toHaveLength(100);
    await merging.close();
    const reopened = await openReplica(store);
    Y.applyUpdate(reopened.doc, updates[100] ?? new Uint8Array(0));
    expect(recordsOf(reopened)).toEqual(other.getArray("entries").toArray());
  });

  it("[CL61] updates are merged only when the result can be shown to hold the same (F44)", async () => {
    const write = (clientId: number, ...values: unknown[]): Uint8Array => {
      const doc = new Y.Doc();
      doc.clientID = clientId;
      doc.getArray("entries").push(values);
      return Y.encodeStateAsUpdate(doc);
    };
    const slices = new Slices({ yieldTurn: async () => undefined });
    const good = [write(1, recordOf(1)), write(2, recordOf(2), recordOf(3))];
    expect(await mergeVerified(good, slices)).toEqual(Y.mergeUpdates(good));
    expect(await mergeVerified([...good, write(1, recordOf(1), recordOf(4))], slices)).toBeDefined();
    expect(await mergeVerified([...good, write(1, recordOf(9))], slices)).toBeUndefined();
    expect(await mergeVerified([...good, write(3, "text")], slices)).toBeUndefined();
    const deleting = new Y.Doc();
    deleting.getArray("entries").push([recordOf(1)]);
    deleting.getArray("entries").delete(0);
    expect(await mergeVerified([...good, Y.encodeStateAsUpdate(deleting)], slices)).toBeUndefined();
  });

  it("[CL62] the order of arrival outlives merging, and a crash before it", async () => {
    const store = await openStore(await makeFolder());
    const replica = await openReplica(store, { merges: false });
    for (let at = 0; at < 300; at++) {
      // A concurrent record now and then: whichever client sorts first, some land before what is there.
      const concurrent = new Y.Doc();
      concurrent.getArray("entries").push([recordOf(1_000 + at)]);
      if (at % 10 === 0) Y.applyUpdate(replica.doc, Y.encodeStateAsUpdate(concurrent));
      await write(replica, at, at + 1);
    }
    const arrived = arrivedOf(replica);
    expect(arrived).not.toEqual(recordsOf(replica));
    await replica.close();
    // The order is written, then the process is killed: nothing has been merged.
    const wrap = (log: UpdateLog) => ({ ...bindLog(log), replaceRange: () => new Promise<void>(() => undefined) });
    const killed = await openReplica(store, { wrap });
    while ((await store.readValue("arrivals")) === undefined) await new Promise((resolve) => setImmediate(resolve));
    closing.splice(closing.length - 1, 1);
    const merging = await openUntilMerged(store, 130);
    expect(arrivedOf(merging)).toEqual(arrived);
    await merging.close();
    const reopened = await openReplica(store);
    expect(arrivedOf(reopened)).toEqual(arrived);
    expect(killed.doc.getArray("entries").length).toBe(arrived.length);
  });

  it("[CL63] another process with the log open misses nothing while it is merged, and may merge too", async () => {
    const folder = await makeFolder();
    const [first, second] = [await openStore(folder), await openStore(folder)];
    const [one, two] = [await openReplica(first), await openReplica(second)];
    const both = async (): Promise<void> => {
      while (recordsOf(one).length !== recordsOf(two).length) await new Promise((resolve) => setImmediate(resolve));
    };
    for (let at = 0; at < 300; at += 20) {
      await Promise.all([write(one, at, at + 20), write(two, 1_000 + at, 1_020 + at)]);
    }
    await both();
    while ((await readLog(first)).length > 300) await new Promise((resolve) => setImmediate(resolve));
    await write(one, 5_000, 5_010);
    await write(two, 6_000, 6_010);
    await both();
    expect(recordsOf(one)).toHaveLength(620);
    expect(recordsOf(one)).toEqual(recordsOf(two));
    await Promise.all([one.close(), two.close()]);
    const reopened = await openReplica(first);
    expect(recordsOf(reopened)).toEqual(recordsOf(one));
  });
});

/** The methods of a log as an object that can be spread. */
function bindLog(log: UpdateLog): UpdateLog {
  return {
    append: (update) => log.append(update),
    read: (after) => log.read(after),
    lastSeq: () => log.lastSeq(),
    replaceRange: (from, to, merged) => log.replaceRange(from, to, merged),
    readDerived: (name) => log.readDerived(name),
    writeDerived: (name, data) => log.writeDerived(name, data),
    onForeignAppend: (listener) => log.onForeignAppend(listener),
    close: () => log.close(),
  };
}
