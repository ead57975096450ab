import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { range, readAll } from "@coppice/testkit";
import { beforeAll, expect, test } from "vitest";
import { buildIfStale, startChild } from "./child-process.ts";
import { makeTempFolder } from "./temp-folder.ts";

beforeAll(buildIfStale);

const updateBytes = 20_000;
const keptCount = 20;
const freedCount = 300;
const sizeOf = (folder: string): number => statSync(join(folder, "data.mdb")).size;

/** Leaves a store with a log of 20 updates, another that was deleted, and much free space. */
async function freeSpaceIn(folder: string): Promise<void> {
  const store = await openLmdbStore({ path: folder });
  const [kept, freed] = [await store.openLog("kept"), await store.openLog("freed")];
  await Promise.all(range(1, keptCount + 1).map((i) => kept.append(new Uint8Array(updateBytes).fill(i))));
  await Promise.all(range(1, freedCount + 1).map(() => freed.append(new Uint8Array(updateBytes))));
  await freed.close();
  await store.deleteLog("freed");
  await store.writeValue("marked", Uint8Array.of(7));
  await store.close();
}

async function expectAllThere(folder: string): Promise<void> {
  const store = await openLmdbStore({ path: folder });
  const stored = await readAll(await store.openLog("kept"));
  expect(stored.map(({ seq, update }) => [seq, update.length, update[0]])).toEqual(
    range(1, keptCount + 1).map((i) => [i, updateBytes, i]),
  );
  expect(await store.readValue("marked")).toEqual(Uint8Array.of(7));
  expect(await store.listLogs()).toEqual(["kept"]);
  await store.close();
}

test("[UL39] a store with much free space is written anew when it is opened so, and holds the same", async () => {
  const folder = await makeTempFolder();
  await freeSpaceIn(folder);
  const before = sizeOf(folder);
  await (await openLmdbStore({ path: folder })).close();
  expect(sizeOf(folder)).toBe(before);

  const store = await openLmdbStore({ path: folder, compactOnOpen: true });
  expect(sizeOf(folder)).toBeLessThan(before / 5);
  const log = await store.openLog("more");
  expect(await log.append(Uint8Array.of(1))).toBe(1);
  await store.close();
  const again = await openLmdbStore({ path: folder, compactOnOpen: true });
  expect((await again.openLog("more")).lastSeq()).toBe(1);
  await again.deleteLog("more");
  const freed = await again.openLog("freed");
  expect(await freed.append(Uint8Array.of(1))).toBe(freedCount + 1);
  await again.deleteLog("freed");
  await again.close();
  await expectAllThere(folder);
  expect(readdirSync(folder).sort()).toEqual(["data.mdb", "lock.mdb"]);
});

test("[UL39] a store that somebody has open is left as it is", async () => {
  const folder = await makeTempFolder();
  await freeSpaceIn(folder);
  const before = sizeOf(folder);
  const other = await openLmdbStore({ path: folder });
  await (await openLmdbStore({ path: folder, compactOnOpen: true })).close();
  expect(sizeOf(folder)).toBe(before);
  await other.close();
  const child = startChild("open-compacted.mjs", [folder]);
  await child.nextLine();
  await child.nextLine();
  const compacted = sizeOf(folder);
  expect(compacted).toBeLessThan(before);

  const store = await openLmdbStore({ path: folder });
  const log = await store.openLog("freed");
  await Promise.all(range(1, freedCount + 1).map(() => log.append(new Uint8Array(updateBytes))));
  await log.close();
  await store.deleteLog("freed");
  await store.close();
  const grown = sizeOf(folder);
  await (await openLmdbStore({ path: folder, compactOnOpen: true })).close();
  expect(sizeOf(folder)).toBe(grown);
  child.process.kill("SIGKILL");
  await child.ended;
  await (await openLmdbStore({ path: folder, compactOnOpen: true })).close();
  expect(sizeOf(folder)).toBeLessThan(grown);
});

test("[UL39] killed at any moment, nothing is lost and the next one does it", async () => {
  const folder = await makeTempFolder();
  await freeSpaceIn(folder);
  const before = sizeOf(folder);
  // Counted from the moment at which the child begins; a whole run takes some tens of milliseconds.
  for (const delayMs of range(0, 11).map((round) => round * 5)) {
    const child = startChild("open-compacted.mjs", [folder]);
    await child.nextLine();
    await delay(delayMs);
    child.process.kill("SIGKILL");
    await child.ended;
    await expectAllThere(folder);
  }
  await (await openLmdbStore({ path: folder, compactOnOpen: true })).close();
  expect(sizeOf(folder)).toBeLessThan(before / 5);
  expect(readdirSync(folder).sort()).toEqual(["data.mdb", "lock.mdb"]);
  await expectAllThere(folder);
}, 60_000);
