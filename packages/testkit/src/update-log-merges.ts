import { expect, test } from "vitest";
import { expectCode } from "./session-storage-under-test.ts";
import {
  appendEach,
  bytesOf,
  collect,
  range,
  readAll,
  type UpdateStoreFactory,
  useUpdateStores,
} from "./update-store-under-test.ts";

/** Ranges that are replaced by one update, also under a reader. SPEC UL7-UL9. */
export function testUpdateMerges(factory: UpdateStoreFactory): void {
  const stores = useUpdateStores(factory);

  test("[UL7] `replaceRange` puts one update in the place of all up to a position, for good", async () => {
    const store = await stores.open();
    const log = await store.openLog("room");
    const other = await store.openLog("room2");
    await appendEach(log, [1, 2, 3, 4]);
    await other.append(bytesOf(7));
    await log.replaceRange(1, 3, bytesOf(1, 2, 3));
    const expected = [
      { seq: 3, update: bytesOf(1, 2, 3) },
      { seq: 4, update: bytesOf(4) },
    ];
    expect(await readAll(log)).toEqual(expected);
    expect(log.lastSeq()).toBe(4);
    await store.close();

    const reopened = await stores.open();
    const again = await reopened.openLog("room");
    expect(await readAll(again)).toEqual(expected);
    expect(await readAll(await reopened.openLog("room2"))).toEqual([{ seq: 1, update: bytesOf(7) }]);
    await again.replaceRange(1, 4, bytesOf(9));
    expect(await readAll(again)).toEqual([{ seq: 4, update: bytesOf(9) }]);
    expect(await again.append(bytesOf(5))).toBe(5);
  });

  test("[UL7] a merge queued behind appends of the same turn covers them", async () => {
    const log = await stores.openLog();
    const appended = [1, 2, 3].map((byte) => log.append(bytesOf(byte)));
    const merged = log.replaceRange(1, 3, bytesOf(9));
    const later = log.append(bytesOf(4));
    await Promise.all([...appended, merged, later]);
    expect(await readAll(log)).toEqual([
      { seq: 3, update: bytesOf(9) },
      { seq: 4, update: bytesOf(4) },
    ]);
  });

  test("[UL8] `replaceRange` where no update stands is refused and changes nothing", async () => {
    const log = await stores.openLog();
    await appendEach(log, [1, 2, 3]);
    await log.replaceRange(1, 2, bytesOf(9));
    const before = await readAll(log);
    for (const position of [0, 1, 4]) await expectCode(log.replaceRange(1, position, bytesOf(0)), "not_found");
    expect(await readAll(log)).toEqual(before);
  });

  test("[UL7] `replaceRange` in the middle leaves what stands before and behind it", async () => {
    const store = await stores.open();
    const log = await store.openLog("room");
    await appendEach(log, range(1, 10));
    await log.replaceRange(3, 5, bytesOf(3, 4, 5));
    await log.replaceRange(6, 8, bytesOf(6, 7, 8));
    const seqs = async (): Promise<number[]> => (await readAll(log)).map(({ seq }) => seq);
    expect(await seqs()).toEqual([1, 2, 5, 8, 9]);
    // A chunk may become part of a larger one, and a range may begin where nothing stands any more.
    await log.replaceRange(4, 8, bytesOf(3, 4, 5, 6, 7, 8));
    expect(await seqs()).toEqual([1, 2, 8, 9]);
    expect((await readAll(log, 3))[0]).toEqual({ seq: 8, update: bytesOf(3, 4, 5, 6, 7, 8) });
    await log.replaceRange(9, 9, bytesOf(7));
    await store.close();
    expect(await readAll(await stores.openLog())).toEqual([
      { seq: 1, update: bytesOf(1) },
      { seq: 2, update: bytesOf(2) },
      { seq: 8, update: bytesOf(3, 4, 5, 6, 7, 8) },
      { seq: 9, update: bytesOf(7) },
    ]);
  });

  test("[UL9] a reading misses nothing when the log is merged behind its end meanwhile", async () => {
    const log = await stores.openLog();
    const update = new Uint8Array(700_000);
    for (const byte of range(1, 9)) await log.append(update.fill(byte));
    const seen = new Set<number>();
    let isMerged = false;
    for await (const entry of log.read()) {
      for (const byte of new Set(entry.update)) seen.add(byte);
      if (isMerged) continue;
      isMerged = true;
      await log.append(bytesOf(9));
      await log.replaceRange(1, 9, bytesOf(...range(1, 10)));
    }
    expect(isMerged).toBe(true);
    for (const byte of range(1, 9)) expect(seen).toContain(byte);
  });

  test("[UL9] a reading misses nothing when its end is merged with what came behind it before the first update is taken", async () => {
    const log = await stores.openLog();
    await appendEach(log, [1, 2, 3]);
    const [reading, atEnd] = [log.read(1), log.read(3)];
    await appendEach(log, [4, 5]);
    await log.replaceRange(1, 4, bytesOf(1, 2, 3, 4));
    expect(await collect(reading)).toEqual([{ seq: 4, update: bytesOf(1, 2, 3, 4) }]);
    expect(await collect(atEnd)).toEqual([]);
  });
}
