import { readdir } from "node:fs/promises";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { bytesOf, nextCall, patternOf, range, readAll } from "@coppice/testkit";
import { expect, onTestFinished, test } from "vitest";
import { Environment } from "../src/environment.ts";
import { LmdbTables } from "../src/lmdb-tables.ts";
import { StoreCore } from "../src/store-core.ts";
import { makeTempFolder } from "./temp-folder.ts";

test("[UL30] ten thousand logs stand in one pair of files", async () => {
  const folder = await makeTempFolder();
  const store = await openLmdbStore({ path: folder });
  onTestFinished(() => store.close());
  const names = range(0, 10_000).map((number) => `room-${String(number).padStart(5, "0")}`);
  await Promise.all(
    names.map(async (name, index) => {
      const log = await store.openLog(name);
      await log.append(bytesOf(index & 0xff, index >>> 8));
      await log.close();
    }),
  );
  expect(await store.listLogs()).toEqual(names);
  expect((await readdir(folder)).sort()).toEqual(["data.mdb", "lock.mdb"]);
  const log = await store.openLog("room-04321");
  expect(await readAll(log)).toEqual([{ seq: 1, update: bytesOf(4321 & 0xff, 4321 >>> 8) }]);
});

test("[UL31] positions go on after a log was deleted, also after reopening and in another store", async () => {
  const folder = await makeTempFolder();
  const store = await openLmdbStore({ path: folder });
  const log = await store.openLog("room");
  for (const byte of [1, 2, 3]) await log.append(bytesOf(byte));
  await store.deleteLog("room");
  await store.close();
  const reopened = await openLmdbStore({ path: folder });
  onTestFinished(() => reopened.close());
  const again = await reopened.openLog("room");
  expect(again.lastSeq()).toBe(0);
  expect(await again.append(bytesOf(4))).toBe(4);
  // Who had read up to position 3 of the deleted log misses nothing of the new one.
  expect(await readAll(again, 3)).toEqual([{ seq: 4, update: bytesOf(4) }]);
});

test("[UL31] handles in another store see a log deleted, and the next append is reported to them", async () => {
  const folder = await makeTempFolder();
  const [here, there] = [await openLmdbStore({ path: folder }), await openLmdbStore({ path: folder })];
  onTestFinished(async () => {
    await here.close();
    await there.close();
  });
  const [own, other] = [await here.openLog("room"), await there.openLog("room")];
  for (const byte of [1, 2]) await own.append(bytesOf(byte));
  expect(other.lastSeq()).toBe(2);
  const heardChange = nextCall((listener) => there.onForeignChange(listener));
  await here.deleteLog("room");
  await heardChange;
  expect(other.lastSeq()).toBe(0);
  const heardAppend = nextCall((listener) => other.onForeignAppend(listener));
  expect(await own.append(bytesOf(3))).toBe(3);
  await heardAppend;
  expect(other.lastSeq()).toBe(3);
});

test("[UL33] a second store of the same process opens while appends of the first are under way", async () => {
  const folder = await makeTempFolder();
  const first = await openLmdbStore({ path: folder });
  const log = await first.openLog("room");
  const appends: Promise<number>[] = [];
  for (let round = 0; round < 20; round++) {
    appends.push(...range(0, 20).map((byte) => log.append(bytesOf(byte))));
    const second = await openLmdbStore({ path: folder });
    const other = await second.openLog("room");
    appends.push(other.append(bytesOf(round)));
    await second.close();
  }
  expect((await Promise.all(appends)).sort((a, b) => a - b)).toEqual(range(1, 20 * 21 + 1));
  await first.close();
});

test("[UL5] updates of 20 MiB stay readable however often the store is opened in one process", async () => {
  const folder = await makeTempFolder();
  const update = patternOf(20 * 1024 * 1024);
  for (const round of range(1, 5)) {
    const store = await openLmdbStore({ path: folder });
    const log = await store.openLog("room");
    expect(await log.append(update.subarray(round))).toBe(round);
    for (const { seq, update: stored } of await readAll(log)) {
      expect(Buffer.compare(stored, update.subarray(seq))).toBe(0);
    }
    await store.close();
  }
});

test("[UL23] an append that other processes keep overtaking is planned under the lock and gets its own position", async () => {
  const folder = await makeTempFolder();
  const environment = new Environment(folder);
  const tables = await environment.acquire();
  const revision = tables.readRevision();
  const core = new StoreCore(environment, { revision, pollIntervalMs: 50, useFileEvents: true });
  const neighbour = await LmdbTables.open(folder);
  onTestFinished(async () => {
    await neighbour.close();
    await environment.close();
  });
  const shared = await core.openSharedLog("room");
  let overtakings = 0;
  const plannedSeqs: number[] = [];
  const seq = await core.queue.enqueue({
    log: "room",
    bytes: 1,
    isAlone: false,
    stage: (staged) => {
      const planned = staged.head("room").lastSeq + 1;
      plannedSeqs.push(planned);
      if (overtakings < 3) {
        overtakings++;
        neighbour.refresh();
        const head = { lastSeq: overtakings, isEmpty: false };
        neighbour.commitLocked(() => ({
          revision: neighbour.readRevision(),
          writes: [
            { kind: "update", log: "room", seq: overtakings, bytes: bytesOf(0) },
            { kind: "head", log: "room", head },
          ],
        }));
      }
      staged.add({ kind: "update", log: "room", seq: planned, bytes: bytesOf(9) });
      staged.setHead("room", { lastSeq: planned, isEmpty: false });
      return planned;
    },
  });
  expect(plannedSeqs).toEqual([1, 2, 3, 4]);
  expect(seq).toBe(4);
  // What the neighbour appended was noticed on the way.
  expect(shared.lastSeq).toBe(3);
  tables.refresh();
  expect(tables.readUpdates("room", 0, 4, 1000).map(({ update }) => update[0])).toEqual([0, 0, 0, 9]);
});
