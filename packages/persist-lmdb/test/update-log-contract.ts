import { SessionError, type StoredUpdate, type UpdateLog, type UpdateStore } from "@coppice/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

/** One place where a store keeps its data, for one test. */
export interface UpdateStoreBackend {
  /** Opens a store over the same data each time, while those opened earlier are still open or after they were closed. */
  open(): Promise<UpdateStore>;
  /** Removes the data; all stores have been closed. */
  remove(): Promise<void>;
}

/** What every implementation of `UpdateStore` and `UpdateLog` must do. SPEC UL1-UL17. */
export function describeUpdateLog(name: string, createBackend: () => Promise<UpdateStoreBackend>): void {
  describe(`update log: ${name}`, () => {
    let backend: UpdateStoreBackend;
    let stores: UpdateStore[];

    beforeEach(async () => {
      backend = await createBackend();
      stores = [];
    });

    afterEach(async () => {
      for (const store of stores) await store.close();
      await backend.remove();
    });

    async function openStore(): Promise<UpdateStore> {
      const store = await backend.open();
      stores.push(store);
      return store;
    }

    async function openLog(): Promise<UpdateLog> {
      return (await openStore()).openLog("room");
    }

    test("[UL1] an appended update is there after reopening, at the same position with the same bytes", async () => {
      const store = await openStore();
      const log = await store.openLog("room");
      await log.append(bytesOf(1, 2, 3));
      await log.append(bytesOf(4));
      await store.close();

      const reopened = await openLog();
      expect(await readAll(reopened)).toEqual([
        { seq: 1, update: bytesOf(1, 2, 3) },
        { seq: 2, update: bytesOf(4) },
      ]);
      expect(reopened.lastSeq()).toBe(2);
      expect(await reopened.append(bytesOf(5))).toBe(3);
    });

    test("[UL1] one log knows nothing of another, also when its name begins with the other's", async () => {
      const store = await openStore();
      const [short, long] = [await store.openLog("room"), await store.openLog("room!")];
      await short.append(bytesOf(1));
      await long.append(bytesOf(2));
      expect(await readAll(short)).toEqual([{ seq: 1, update: bytesOf(1) }]);
      expect(await readAll(long)).toEqual([{ seq: 1, update: bytesOf(2) }]);
    });

    test("[UL2] positions start at 1 and follow the order of the calls, within a turn and across turns", async () => {
      const log = await openLog();
      const first = await Promise.all(range(0, 100).map((byte) => log.append(bytesOf(byte))));
      const second = range(100, 200).map((byte) => log.append(bytesOf(byte)));
      expect([...first, ...(await Promise.all(second))]).toEqual(range(1, 201));
      const stored = await readAll(log);
      expect(stored.map((entry) => entry.update[0])).toEqual(range(0, 200));
    });

    test("[UL3] reading starts behind `after` and ends where the log ended at the call", async () => {
      const log = await openLog();
      await appendEach(log, range(1, 6));
      const reading = log.read(2);
      await log.append(bytesOf(6));
      expect((await collect(reading)).map(({ seq }) => seq)).toEqual([3, 4, 5]);
      expect((await readAll(log, 5)).map(({ seq }) => seq)).toEqual([6]);
      expect(await readAll(log, 6)).toEqual([]);
      expect(await readAll(log, 99)).toEqual([]);
    });

    test("[UL3] a log much larger than one slice is read whole and in order", async () => {
      const log = await openLog();
      const update = new Uint8Array(100_000).fill(7);
      await Promise.all(range(0, 50).map(() => log.append(update)));
      const stored = await readAll(log);
      expect(stored.map(({ seq }) => seq)).toEqual(range(1, 51));
      expect(stored.every((entry) => equalBytes(entry.update, update))).toBe(true);
    });

    test("[UL3] a reader may stop early and start again", async () => {
      const log = await openLog();
      await appendEach(log, [1, 2, 3]);
      for await (const { seq } of log.read()) {
        expect(seq).toBe(1);
        break;
      }
      expect((await readAll(log)).length).toBe(3);
    });

    test("[UL4] bytes are copied on both sides, and read as plain Uint8Array", async () => {
      const log = await openLog();
      const update = Buffer.from([1, 2, 3]);
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
      const log = await openLog();
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
      const log = await openLog();
      const large = patternOf(32 * 1024 * 1024);
      await Promise.all([log.append(new Uint8Array(0)), log.append(large), log.append(bytesOf(1))]);
      const stored = await readAll(log);
      expect(stored.map((entry) => entry.update.length)).toEqual([0, large.length, 1]);
      expect(equalBytes(stored[1]?.update, large)).toBe(true);
      expect(stored.map((entry) => entry.update.constructor === Uint8Array)).toEqual([true, true, true]);
    });

    test("[UL6] `lastSeq` is 0 in an empty log, then the last durable position", async () => {
      const log = await openLog();
      expect(log.lastSeq()).toBe(0);
      const appended = log.append(bytesOf(1));
      expect(log.lastSeq()).toBe(0);
      await appended;
      expect(log.lastSeq()).toBe(1);
    });

    test("[UL7] `replaceRange` puts one update in the place of all up to a position, for good", async () => {
      const store = await openStore();
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

      const reopened = await openStore();
      const again = await reopened.openLog("room");
      expect(await readAll(again)).toEqual(expected);
      expect(await readAll(await reopened.openLog("room2"))).toEqual([{ seq: 1, update: bytesOf(7) }]);
      await again.replaceRange(1, 4, bytesOf(9));
      expect(await readAll(again)).toEqual([{ seq: 4, update: bytesOf(9) }]);
      expect(await again.append(bytesOf(5))).toBe(5);
    });

    test("[UL7] a merge queued behind appends of the same turn covers them", async () => {
      const log = await openLog();
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
      const log = await openLog();
      await appendEach(log, [1, 2, 3]);
      await log.replaceRange(1, 2, bytesOf(9));
      const before = await readAll(log);
      for (const position of [0, 1, 4]) await expectCode(log.replaceRange(1, position, bytesOf(0)), "not_found");
      expect(await readAll(log)).toEqual(before);
    });

    test("[UL7] `replaceRange` in the middle leaves what stands before and behind it", async () => {
      const store = await openStore();
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
      expect(await readAll(await openLog())).toEqual([
        { seq: 1, update: bytesOf(1) },
        { seq: 2, update: bytesOf(2) },
        { seq: 8, update: bytesOf(3, 4, 5, 6, 7, 8) },
        { seq: 9, update: bytesOf(7) },
      ]);
    });

    test("[UL9] a reading misses nothing when the log is merged behind its end meanwhile", async () => {
      const log = await openLog();
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
      const log = await openLog();
      await appendEach(log, [1, 2, 3]);
      const [reading, atEnd] = [log.read(1), log.read(3)];
      await appendEach(log, [4, 5]);
      await log.replaceRange(1, 4, bytesOf(1, 2, 3, 4));
      expect(await collect(reading)).toEqual([{ seq: 4, update: bytesOf(1, 2, 3, 4) }]);
      expect(await collect(atEnd)).toEqual([]);
    });

    test("[UL10] derived data is kept by log and name, and goes with its log", async () => {
      const store = await openStore();
      const log = await store.openLog("room");
      const other = await store.openLog("room2");
      await log.append(bytesOf(1));
      expect(await log.readDerived("index")).toBeUndefined();
      await log.writeDerived("index", bytesOf(1));
      await log.writeDerived("index", bytesOf(2));
      await other.writeDerived("index", bytesOf(3));
      expect(await log.readDerived("index")).toEqual(bytesOf(2));
      expect((await log.readDerived("index"))?.constructor).toBe(Uint8Array);
      expect(await log.readDerived("coverage")).toBeUndefined();
      await store.deleteLog("room");
      expect(await log.readDerived("index")).toBeUndefined();
      expect(await other.readDerived("index")).toEqual(bytesOf(3));
    });

    test("[UL11] values are durable, replaced as a whole, and removed by undefined", async () => {
      const store = await openStore();
      await store.writeValue("device", bytesOf(1, 2));
      await store.writeValue("leaf", bytesOf(3));
      await store.writeValue("device", bytesOf(4));
      await store.writeValue("leaf", undefined);
      await store.writeValue("never", undefined);
      await store.close();
      const reopened = await openStore();
      expect(await reopened.readValue("device")).toEqual(bytesOf(4));
      expect((await reopened.readValue("device"))?.constructor).toBe(Uint8Array);
      expect(await reopened.readValue("leaf")).toBeUndefined();
      expect(await reopened.readValue("room")).toBeUndefined();
    });

    test("[UL12] `listLogs` names the logs that hold something, sorted", async () => {
      const store = await openStore();
      expect(await store.listLogs()).toEqual([]);
      await store.openLog("never written");
      for (const name of ["b", "a", "~", "a b", "B"]) await (await store.openLog(name)).append(bytesOf(1));
      await (await store.openLog("only derived")).writeDerived("index", bytesOf(1));
      await store.writeValue("a value", bytesOf(1));
      await store.deleteLog("b");
      expect(await store.listLogs()).toEqual(["B", "a", "a b", "~"]);
    });

    test("[UL13] a deleted log is empty for its open handles, and can be written again", async () => {
      const store = await openStore();
      const log = await store.openLog("room");
      await appendEach(log, [1, 2]);
      await store.deleteLog("room");
      await store.deleteLog("room");
      await store.deleteLog("never there");
      expect(log.lastSeq()).toBe(0);
      expect(await readAll(log)).toEqual([]);
      const seq = await log.append(bytesOf(3));
      expect(await readAll(log)).toEqual([{ seq, update: bytesOf(3) }]);
      expect(log.lastSeq()).toBe(seq);
    });

    test("[UL14] an append is reported to the other handles of the log, not to its own", async () => {
      const store = await openStore();
      const [own, other, elsewhere] = [
        await store.openLog("room"),
        await store.openLog("room"),
        await store.openLog("room2"),
      ];
      const calls: string[] = [];
      own.onForeignAppend(() => calls.push("own"));
      elsewhere.onForeignAppend(() => calls.push("elsewhere"));
      const stop = other.onForeignAppend(() => calls.push("other"));
      const heard = nextCall((listener) => other.onForeignAppend(listener));
      await own.append(bytesOf(1));
      await heard;
      expect(calls).toEqual(["other"]);
      expect(other.lastSeq()).toBe(1);

      stop();
      stop();
      const heardAgain = nextCall((listener) => other.onForeignAppend(listener));
      await own.append(bytesOf(2));
      await heardAgain;
      expect(calls).toEqual(["other"]);
    });

    test("[UL15] closing waits for appends in flight; then everything is refused as closed", async () => {
      const store = await openStore();
      const log = await store.openLog("room");
      const settled: number[] = [];
      const appended = [1, 2, 3].map((byte) => log.append(bytesOf(byte)).then((seq) => settled.push(seq)));
      await Promise.all([log.close(), log.close()]);
      expect(settled).toEqual([1, 2, 3]);
      await Promise.all(appended);
      await log.close();
      await expectCode(log.append(bytesOf(4)), "closed");
      await expectCode(log.replaceRange(1, 1, bytesOf(4)), "closed");
      await expectCode(readAll(log), "closed");
      expect((await readAll(await store.openLog("room"))).length).toBe(3);
    });

    test("[UL15] closing a store closes its logs and waits for their appends", async () => {
      const store = await openStore();
      const log = await store.openLog("room");
      const appended = log.append(bytesOf(1));
      const written = store.writeValue("device", bytesOf(2));
      await Promise.all([store.close(), store.close()]);
      expect(await appended).toBe(1);
      await written;
      await store.close();
      await expectCode(log.append(bytesOf(1)), "closed");
      await expectCode(store.openLog("room"), "closed");
      await expectCode(store.listLogs(), "closed");
      await expectCode(store.readValue("device"), "closed");
      await expectCode(store.writeValue("device", bytesOf(1)), "closed");
      await expectCode(store.deleteLog("room"), "closed");
      const reopened = await openStore();
      expect(await reopened.readValue("device")).toEqual(bytesOf(2));
    });

    test("[UL15] a reading under way ends with `closed` when its log is closed", async () => {
      const log = await openLog();
      const update = new Uint8Array(700_000);
      for (let count = 0; count < 8; count++) await log.append(update);
      const reading = (async () => {
        for await (const _ of log.read()) await log.close();
      })();
      await expectCode(reading, "closed");
    });

    test("[UL16] names are 1-200 printable ASCII characters", async () => {
      const store = await openStore();
      const log = await store.openLog("n".repeat(200));
      await log.append(bytesOf(1));
      await log.writeDerived("d".repeat(200), bytesOf(1));
      await store.writeValue(" v~", bytesOf(1));
      expect(await store.listLogs()).toEqual(["n".repeat(200)]);
      for (const name of ["", "n".repeat(201), "tab\t", "nul\0", "größe"]) {
        await expectCode(store.openLog(name), "storage");
        await expectCode(store.deleteLog(name), "storage");
        await expectCode(store.readValue(name), "storage");
        await expectCode(store.writeValue(name, bytesOf(1)), "storage");
        await expectCode(log.writeDerived(name, bytesOf(1)), "storage");
      }
    });

    test("[UL17] two open stores over the same data see each other's writes", async () => {
      const [here, there] = [await openStore(), await openStore()];
      const [logHere, logThere] = [await here.openLog("room"), await there.openLog("room")];
      const ownCalls: string[] = [];
      logHere.onForeignAppend(() => ownCalls.push("append"));
      here.onForeignChange(() => ownCalls.push("change"));
      const appendHeard = nextCall((listener) => logThere.onForeignAppend(listener));
      const changeHeard = nextCall((listener) => there.onForeignChange(listener));
      expect(await logHere.append(bytesOf(1))).toBe(1);
      await Promise.all([appendHeard, changeHeard]);
      expect(ownCalls).toEqual([]);
      expect(logThere.lastSeq()).toBe(1);
      expect(await logThere.append(bytesOf(2))).toBe(2);
      expect((await readAll(logHere)).map(({ seq }) => seq)).toEqual([1, 2]);
      await there.writeValue("device", bytesOf(3));
      expect(await here.readValue("device")).toEqual(bytesOf(3));
    });

    test("[UL17] appends through two stores at once get each position once", async () => {
      const [here, there] = [await openLog(), await openLog()];
      const rounds = await Promise.all(
        [here, there].map(async (log) => {
          const seqs: number[] = [];
          for (let round = 0; round < 40; round++) {
            seqs.push(...(await Promise.all([log.append(bytesOf(1)), log.append(bytesOf(2))])));
          }
          return seqs;
        }),
      );
      expect(rounds.flat().sort((a, b) => a - b)).toEqual(range(1, 161));
      for (const seqs of rounds) expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
      expect(here.lastSeq()).toBe(160);
    });
  });
}

/** The bytes as an update. */
export function bytesOf(...bytes: number[]): Uint8Array {
  return new Uint8Array(bytes);
}

/** Bytes that differ from place to place, so that a shifted or repeated page shows. */
export function patternOf(length: number): Uint8Array {
  const pattern = new Uint8Array(length);
  for (let position = 0; position < length; position++) pattern[position] = (position ^ (position >>> 8)) & 0xff;
  return pattern;
}

/** Whole numbers from `start` inclusive to `end` exclusive. */
export function range(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, index) => start + index);
}

/** Everything behind `after`. */
export function readAll(log: UpdateLog, after?: number): Promise<StoredUpdate[]> {
  return collect(log.read(after));
}

/** Settles at the first call of the listener, which is then taken away. */
export function nextCall(listen: (listener: () => void) => () => void): Promise<void> {
  return new Promise((resolve) => {
    const stop = listen(() => {
      stop();
      resolve();
    });
  });
}

/** Expects a SessionError with that code, and returns it. */
export async function expectCode(promise: Promise<unknown>, code: SessionError["code"]): Promise<SessionError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof SessionError)) throw new Error(`expected a SessionError, got ${String(error)}`);
  expect(error.code).toBe(code);
  return error;
}

async function collect(reading: AsyncIterable<StoredUpdate>): Promise<StoredUpdate[]> {
  const stored: StoredUpdate[] = [];
  for await (const entry of reading) stored.push(entry);
  return stored;
}

async function appendEach(log: UpdateLog, bytes: readonly number[]): Promise<void> {
  for (const byte of bytes) await log.append(bytesOf(byte));
}

/** `toEqual` walks typed arrays element by element, too slow for megabytes. */
function equalBytes(actual: Uint8Array | undefined, expected: Uint8Array): boolean {
  return actual !== undefined && Buffer.compare(actual, expected) === 0;
}
