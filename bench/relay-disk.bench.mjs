/**
 * What a relay's data file takes for each byte that stands in it, once merging has ended, and how long merging keeps the
 * event loop at most. Rooms get their updates without sockets: how fast they come in changes what merging meets.
 */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { createRelayLogger, defaultRelayLimits } from "@coppice/relay";
import { Rooms } from "@coppice/relay/testing";
import { runFigures } from "./measure.mjs";
import { createUpdates } from "./updates.mjs";

/** A data file that nothing was written to for so long belongs to a relay that has nothing left to merge. */
const quietMs = 3_000;

/** A member that does not follow the log. */
const silentMember = { position: undefined, noteChanges() {}, acknowledge() {} };

const shapes = [
  { name: "1 room, 10,000 records of 2 kB", rooms: 1, perRoom: 10_000, bytes: 2_048 },
  { name: "1 room, 20,000 records of 300 B", rooms: 1, perRoom: 20_000, bytes: 300 },
  { name: "1 room, 50,000 records of 10 B", rooms: 1, perRoom: 50_000, bytes: 10 },
  { name: "100 rooms, 500 records of 300 B each", rooms: 100, perRoom: 500, bytes: 300 },
];

await runFigures({
  rounds: 1,
  contestants: shapes,
  measure: measureShape,
  figures: {
    whileOpen: {
      title: "data file over bytes stored, when merging has ended",
      unit: "times",
      budgetsOf: () => [{ atMost: 1.25 }],
    },
    reopened: {
      title: "data file over bytes stored, opened again",
      unit: "times",
      budgetsOf: () => [{ atMost: 1.25 }],
    },
    longestDelayUs: {
      title: "longest delay of the relay's event loop while it merges, without appends (wall clock)",
      unit: "us",
      budgetsOf: () => [{ atMost: 50_000 }],
    },
  },
});

async function measureShape({ rooms, perRoom, bytes }) {
  const folder = await mkdtemp(join(tmpdir(), "coppice-bench-disk-"));
  const path = join(folder, "store");
  const store = await openLmdbStore({ path });
  const open = new Rooms(store, defaultRelayLimits, createRelayLogger("error"));
  const updates = createUpdates(perRoom, bytes);
  const leases = await Promise.all(Array.from({ length: rooms }, (_, at) => open.acquire(`room-${at}`)));
  for (let at = 0; at < perRoom; at++) {
    await Promise.all(leases.map(({ room }) => room.deliver(silentMember, updates[at])));
    if (at % 100 === 0) await open.settle();
  }
  await open.settle();
  const loopDelay = monitorEventLoopDelay({ resolution: 1 });
  loopDelay.enable();
  for (const lease of leases) lease.release();
  await settle(path);
  loopDelay.disable();
  const storedBytes = await countStoredBytes(store);
  const whileOpen = (await readDataBytes(path)) / storedBytes;
  await open.close();
  await store.close();
  const reopened = await openLmdbStore({ path, compactOnOpen: true });
  const sizes = { whileOpen, reopened: (await readDataBytes(path)) / storedBytes };
  await reopened.close();
  await rm(folder, { recursive: true });
  return { ...sizes, longestDelayUs: loopDelay.max / 1_000 };
}

async function settle(path) {
  for (;;) {
    const { mtimeMs } = await stat(join(path, "data.mdb"));
    await delay(quietMs);
    if ((await stat(join(path, "data.mdb"))).mtimeMs === mtimeMs) return;
  }
}

async function countStoredBytes(store) {
  let bytes = 0;
  for (const name of await store.listLogs()) {
    const log = await store.openLog(name);
    for await (const { update } of log.read()) bytes += update.length;
    await log.close();
  }
  return bytes;
}

async function readDataBytes(path) {
  return (await stat(join(path, "data.mdb"))).size;
}
