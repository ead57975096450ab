import { expect, test } from "vitest";
import {
  appendEach,
  bytesOf,
  collect,
  equalBytes,
  patternOf,
  range,
  readAll,
  type UpdateStoreFactory,
  useUpdateStores,
} from "./update-store-under-test.ts";

/** What is appended and read: positions, order, bytes. SPEC UL1-UL6. */
export function testUpdateAppends(factory: UpdateStoreFactory): void {
  const stores = useUpdateStores(factory);

  test("[UL1] an appended update is there after reopening, at the same position with the same bytes", async () => {
    const store = await stores.open();
    const log = await store.openLog("room");
    await log.append(bytesOf(1, 2, 3));
    await log.append(bytesOf(4));
    await store.close();

    const reopened = await stores.openLog();
    expect(await readAll(reopened)).toEqual([
      { seq: 1, update: bytesOf(1, 2, 3) },
      { seq: 2, update: bytesOf(4) },
    ]);
    expect(reopened.lastSeq()).toBe(2);
    expect(await reopened.append(bytesOf(5))).toBe(3);
  });

  test("[UL1] one log knows nothing of another, also when its name begins with the other's", async () => {
    const store = await stores.open();
    const [short, long] = [await store.openLog("room"), await store.openLog("room!")];
    await short.append(bytesOf(1));
    await long.append(bytesOf(2));
    expect(await readAll(short)).toEqual([{ seq: 1, update: bytesOf(1) }]);
    expect(await readAll(long)).toEqual([{ seq: 1, update: bytesOf(2) }]);
  });

  test("[UL2] positions start at 1 and follow the order of the calls, within a turn and across turns", async () => {
    const log = await stores.openLog();
    const first = await Promise.all(range(0, 100).map((byte) => log.append(bytesOf(byte))));
    const second = range(100, 200).map((byte) => log.append(bytesOf(byte)));
    expect([...first, ...(await Promise.all(second))]).toEqual(range(1, 201));
    const stored = await readAll(log);
    expect(stored.map((entry) => entry.update[0])).toEqual(range(0, 200));
  });

  test("[UL3] reading starts behind `after` and ends where the log ended at the call", async () => {
    const log = await stores.openLog();
    await appendEach(log, range(1, 6));
    const reading = log.read(2);
    await log.append(bytesOf(6));
    expect((await collect(reading)).map(({ seq }) => seq)).toEqual([3, 4, 5]);
    expect((await readAll(log, 5)).map(({ seq }) => seq)).toEqual([6]);
    expect(await readAll(log, 6)).toEqual([]);
    expect(await readAll(log, 99)).toEqual([]);
  });

  test("[UL3] a log much larger than one slice is read whole and in order", async () => {
    const log = await stores.openLog();
    const update = new Uint8Array(100_000).fill(7);
    await Promise.all(range(0, 50).map(() => log.append(update)));
    const stored = await readAll(log);
    expect(stored.map(({ seq }) => seq)).toEqual(range(1, 51));
    expect(stored.every((entry) => equalBytes(entry.update, update))).toBe(true);
  });

  test("[UL3] a reader may stop early and start again", async () => {
    const log = await stores.openLog();
    await appendEach(log, [1, 2, 3]);
    for await (const { seq } of log.read()) {
      expect(seq).toBe(1);
      break;
    }
    expect((await readAll(log)).length).toBe(3);
  });

  test("[UL4] bytes are copied on both sides, and read as plain Uint8Array", async () => {
    const log = await stores.openLog();
    const update = new OddBytes([1, 2, 3]);
    const appended = log.append(update);
    update.fill(9);
    await appended;
    const [first] = await readAll(log);
    expect(first?.update.constructor).toBe(Uint8Array);
    expect(first?.update).toEqual(bytesOf(1, 2, 3));
    first?.update.fill(8);
    expect((await readAll(log))[0]?.update).toEqual(bytesOf(1, 2, 3));
  });

  test("[UL4] updates of any size that were read stay as they are while others are read, and share no memory", async () => {
    const log = await stores.openLog();
    const updates = [1, 100, 3_000, 5_000, 40_000, 300_000, 3_000_000].flatMap((size) => [
      patternOf(size),
      patternOf(size).fill(7),
    ]);
    await Promise.all(updates.map((update) => log.append(update)));

    const read = await readAll(log);
    const readLater = await readAll(log);
    for (const { update } of readLater) update.fill(9);

    expect(read.every(({ update }, at) => equalBytes(update, updates[at] as Uint8Array))).toBe(true);
    expect(read.map(({ update }) => update.length)).toEqual(updates.map(({ length }) => length));
    // A part of a large buffer would keep all of it in memory.
    expect(read.every(({ update }) => update.buffer.byteLength === update.byteLength)).toBe(true);
  });

  test("[UL5] updates from 0 bytes to 32 MiB come back whole", async () => {
    const log = await stores.openLog();
    const large = patternOf(32 * 1024 * 1024);
    await Promise.all([log.append(new Uint8Array(0)), log.append(large), log.append(bytesOf(1))]);
    const stored = await readAll(log);
    expect(stored.map((entry) => entry.update.length)).toEqual([0, large.length, 1]);
    expect(equalBytes(stored[1]?.update, large)).toBe(true);
    expect(stored.map((entry) => entry.update.constructor === Uint8Array)).toEqual([true, true, true]);
  });

  test("[UL6] `lastSeq` is 0 in an empty log, then the last durable position", async () => {
    const log = await stores.openLog();
    expect(log.lastSeq()).toBe(0);
    const appended = log.append(bytesOf(1));
    expect(log.lastSeq()).toBe(0);
    await appended;
    expect(log.lastSeq()).toBe(1);
  });
}

/** As Node's Buffer is: a `Uint8Array` of another class. */
class OddBytes extends Uint8Array {}
