import { join } from "node:path";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { bytesOf, nextCall, range, readAll } from "@coppice/testkit";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { buildIfStale, type Child, startChild } from "./child-process.ts";
import { makeTempFolder } from "./temp-folder.ts";

beforeAll(buildIfStale);

test("[UL23] three processes appending at once get each position once, in a folder they make together", async () => {
  const folder = join(await makeTempFolder(), "store");
  const perProcess = 150;
  const children = ["a", "b", "c"].map((label) => startChild("append-many.mjs", [folder, label, String(perProcess)]));
  for (const child of children) expect(await child.nextLine()).toBe("open");
  for (const child of children) child.write("go");
  const seqsByChild = await Promise.all(children.map(async (child) => JSON.parse(await child.nextLine()) as number[]));

  const seqs = seqsByChild.flat();
  expect(seqs.length).toBeGreaterThanOrEqual(3 * perProcess);
  expect([...seqs].sort((a, b) => a - b)).toEqual(range(1, seqs.length + 1));
  const store = await openLmdbStore({ path: folder });
  onTestFinished(() => store.close());
  const stored = await readAll(await store.openLog("room"));
  const labelBySeq = new Map(stored.map(({ seq, update }) => [seq, new TextDecoder().decode(update)]));
  seqsByChild.forEach((own, index) => {
    expect(own).toEqual([...own].sort((a, b) => a - b));
    for (const seq of own) expect(labelBySeq.get(seq)).toBe(["a", "b", "c"][index]);
  });
});

describe.each([
  { how: "by file events", options: { pollIntervalMs: 3_600_000 } },
  { how: "by polling", options: { useFileEvents: false } },
])("noticing another process $how", ({ options }) => {
  async function openWithNeighbour(): Promise<{ store: Awaited<ReturnType<typeof openLmdbStore>>; neighbour: Child }> {
    const folder = await makeTempFolder();
    const store = await openLmdbStore({ path: folder, ...options });
    onTestFinished(() => store.close());
    const neighbour = startChild("append-on-command.mjs", [folder]);
    expect(await neighbour.nextLine()).toBe("open");
    return { store, neighbour };
  }

  test("[UL24] its append calls the listeners of that log and of the store, and no other", async () => {
    const { store, neighbour } = await openWithNeighbour();
    const [log, same, other] = [await store.openLog("room"), await store.openLog("room"), await store.openLog("other")];
    const calls: string[] = [];
    other.onForeignAppend(() => calls.push("other"));
    const heard = Promise.all([
      nextCall((listener) => log.onForeignAppend(listener)),
      nextCall((listener) => same.onForeignAppend(listener)),
      nextCall((listener) => store.onForeignChange(listener)),
    ]);
    neighbour.write("room");
    expect(await neighbour.nextLine()).toBe("1");
    await heard;
    expect(log.lastSeq()).toBe(1);
    expect(await readAll(log)).toEqual([{ seq: 1, update: bytesOf(1, 2, 3) }]);
    expect(calls).toEqual([]);
  });

  test("[UL24] own appends between its own are not reported, its appends are", async () => {
    const { store, neighbour } = await openWithNeighbour();
    const log = await store.openLog("room");
    const heardAt: number[] = [];
    let resolveHeard: () => void = () => undefined;
    log.onForeignAppend(() => {
      heardAt.push(log.lastSeq());
      resolveHeard();
    });
    for (const position of [1, 2, 3]) expect(await log.append(bytesOf(1))).toBe(position);
    expect(heardAt).toEqual([]);
    for (const position of [4, 6, 8]) {
      const heard = new Promise<void>((resolve) => {
        resolveHeard = resolve;
      });
      neighbour.write("room");
      expect(await neighbour.nextLine()).toBe(String(position));
      await heard;
      expect(await log.append(bytesOf(1))).toBe(position + 1);
    }
    expect(heardAt).toEqual([4, 6, 8]);
  });
});

test("[UL24] without any listener, lastSeq and read still see what another process committed", async () => {
  const folder = await makeTempFolder();
  const store = await openLmdbStore({ path: folder });
  onTestFinished(() => store.close());
  const log = await store.openLog("room");
  const neighbour = startChild("append-on-command.mjs", [folder]);
  expect(await neighbour.nextLine()).toBe("open");
  for (const position of [1, 2, 3]) {
    neighbour.write("room");
    expect(await neighbour.nextLine()).toBe(String(position));
    expect(log.lastSeq()).toBe(position);
    expect((await readAll(log)).length).toBe(position);
  }
  expect(await log.append(bytesOf(1))).toBe(4);
});

test("[UL29] an open store with listeners does not keep the process alive", async () => {
  const child = startChild("leave-open.mjs", [await makeTempFolder()]);
  expect(await child.nextLine()).toBe("1");
  expect(await child.ended).toEqual({ code: 0, signal: null, stderr: "" });
});
