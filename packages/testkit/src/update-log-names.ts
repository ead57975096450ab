import { expect, test } from "vitest";
import { expectCode } from "./session-storage-under-test.ts";
import { appendEach, bytesOf, readAll, type UpdateStoreFactory, useUpdateStores } from "./update-store-under-test.ts";

/** Derived data, values, names of logs, deletion. SPEC UL10-UL13, UL16. */
export function testUpdateNames(factory: UpdateStoreFactory): void {
  const stores = useUpdateStores(factory);

  test("[UL10] derived data is kept by log and name, and goes with its log", async () => {
    const store = await stores.open();
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
    const store = await stores.open();
    await store.writeValue("device", bytesOf(1, 2));
    await store.writeValue("leaf", bytesOf(3));
    await store.writeValue("device", bytesOf(4));
    await store.writeValue("leaf", undefined);
    await store.writeValue("never", undefined);
    await store.close();
    const reopened = await stores.open();
    expect(await reopened.readValue("device")).toEqual(bytesOf(4));
    expect((await reopened.readValue("device"))?.constructor).toBe(Uint8Array);
    expect(await reopened.readValue("leaf")).toBeUndefined();
    expect(await reopened.readValue("room")).toBeUndefined();
  });

  test("[UL12] `listLogs` names the logs that hold something, sorted", async () => {
    const store = await stores.open();
    expect(await store.listLogs()).toEqual([]);
    await store.openLog("never written");
    for (const name of ["b", "a", "~", "a b", "B"]) await (await store.openLog(name)).append(bytesOf(1));
    await (await store.openLog("only derived")).writeDerived("index", bytesOf(1));
    await store.writeValue("a value", bytesOf(1));
    await store.deleteLog("b");
    expect(await store.listLogs()).toEqual(["B", "a", "a b", "~"]);
  });

  test("[UL13] a deleted log is empty for its open handles, and can be written again", async () => {
    const store = await stores.open();
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

  test("[UL16] names are 1-200 printable ASCII characters", async () => {
    const store = await stores.open();
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
}
