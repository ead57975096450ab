import { expect, test } from "vitest";
import { expectCode } from "./session-storage-under-test.ts";
import {
  bytesOf,
  nextCall,
  range,
  readAll,
  type UpdateStoreFactory,
  useUpdateStores,
} from "./update-store-under-test.ts";

/** Several handles and several open stores; what closing means. SPEC UL14, UL15, UL17. */
export function testUpdateHandles(factory: UpdateStoreFactory): void {
  const stores = useUpdateStores(factory);

  test("[UL14] an append is reported to the other handles of the log, not to its own", async () => {
    const store = await stores.open();
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
    const store = await stores.open();
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
    const store = await stores.open();
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
    const reopened = await stores.open();
    expect(await reopened.readValue("device")).toEqual(bytesOf(2));
  });

  test("[UL15] a reading under way ends with `closed` when its log is closed", async () => {
    const log = await stores.openLog();
    const update = new Uint8Array(700_000);
    for (let count = 0; count < 8; count++) await log.append(update);
    const reading = (async () => {
      for await (const _ of log.read()) await log.close();
    })();
    await expectCode(reading, "closed");
  });

  test("[UL17] two open stores over the same data see each other's writes", async () => {
    const [here, there] = [await stores.open(), await stores.open()];
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
    const [here, there] = [await stores.openLog(), await stores.openLog()];
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
}
