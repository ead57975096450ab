/** Appends that are on the disk when they settle, one after another and many at a time, beside a file and `fdatasync`. */
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { runBenchmark } from "./measure.mjs";

const update = new Uint8Array(2048).fill(1);
const [aloneCount, groupCount, groupSize] = [100, 20, 250];

const folder = await mkdtemp(join(tmpdir(), "coppice-bench-"));
const store = await openLmdbStore({ path: join(folder, "store") });
const log = await store.openLog("room");
const file = await open(join(folder, "file"), "a");
try {
  await runBenchmark({
    title: "Append 2 kB durably, one after another; figures per append",
    clock: "wall",
    rounds: 9,
    contestants: [
      { name: "a file, fdatasync after each", count: aloneCount, run: () => repeat(aloneCount, () => writeFile(1)) },
      { name: "update log on LMDB", count: aloneCount, run: () => repeat(aloneCount, () => log.append(update)) },
    ],
  });
  await runBenchmark({
    title: `Append 2 kB durably, ${groupSize} at a time; figures per append`,
    clock: "wall",
    rounds: 9,
    contestants: [
      {
        name: `a file, fdatasync after ${groupSize}`,
        count: groupCount * groupSize,
        run: () => repeat(groupCount, () => writeFile(groupSize)),
      },
      {
        name: `update log on LMDB, ${groupSize} in flight`,
        count: groupCount * groupSize,
        run: () => repeat(groupCount, () => Promise.all(Array.from({ length: groupSize }, () => log.append(update)))),
      },
    ],
  });
} finally {
  await file.close();
  await store.close();
  await rm(folder, { recursive: true });
}

async function repeat(times, work) {
  for (let time = 0; time < times; time++) await work();
}

async function writeFile(times) {
  await file.writev(Array.from({ length: times }, () => update));
  await file.datasync();
}
