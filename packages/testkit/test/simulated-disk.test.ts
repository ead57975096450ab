import { type DiskImage, SimulatedDisk, settlePromises, VirtualTime } from "@coppice/testkit/simulation";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

describe("a simulated disk", () => {
  let time: VirtualTime;
  beforeAll(() => {
    time = VirtualTime.start();
  });
  afterAll(() => time.stop());

  const createDisk = (): SimulatedDisk => new SimulatedDisk({ commitMs: () => 10 });
  const bytesOf = (...bytes: number[]): Uint8Array => Uint8Array.from(bytes);
  const firstBytes = (disk: SimulatedDisk): number[] => disk.updatesOf("room").map(({ update }) => update[0] ?? -1);

  test("[SM20] what is written in one turn is durable together, once its time has passed, in order", async () => {
    const disk = createDisk();
    const log = await disk.open().openLog("room");
    const seqs = Promise.all([log.append(bytesOf(1)), log.append(bytesOf(2))]);
    await time.advance(9);
    expect(firstBytes(disk)).toEqual([]);
    await time.advance(1);
    expect(firstBytes(disk)).toEqual([1, 2]);
    expect(await seqs).toEqual([1, 2]);
    expect(log.lastSeq()).toBe(2);
  });

  test("[SM36] processes beside each other hear of each other's appends, and one that is killed takes nobody along", async () => {
    const disk = createDisk();
    const [one, two] = [disk.openBeside(), disk.openBeside()];
    const [log, other] = [await one.store.openLog("room"), await two.store.openLog("room")];
    const heard: string[] = [];
    log.onForeignAppend(() => heard.push("one"));
    const stop = other.onForeignAppend(() => heard.push("two"));
    void log.append(bytesOf(1));
    await time.advance(100);
    expect(heard).toEqual(["two"]);
    void log.append(bytesOf(2));
    void other.append(bytesOf(3));
    await time.advance(5);
    one.kill(false);
    await time.advance(100);
    expect(firstBytes(disk)).toEqual([1, 3]);
    expect(heard).toEqual(["two"]);
    stop();
    const third = await disk.openBeside().store.openLog("room");
    void third.append(bytesOf(4));
    await time.advance(100);
    expect(firstBytes(disk)).toEqual([1, 3, 4]);
    expect(heard).toEqual(["two"]);
  });

  test.each([true, false])(
    "[SM20] a crash leaves the commit under way done (%s) or undone, and later ones undone",
    async (keeps) => {
      const disk = createDisk();
      const log = await disk.open().openLog("room");
      let settled = 0;
      const count = (): void => {
        settled += 1;
      };
      log.append(bytesOf(1)).then(count, count);
      log.append(bytesOf(2)).then(count, count);
      await time.advance(5);
      log.append(bytesOf(3)).then(count, count);
      disk.crash(keeps);
      await time.advance(100);
      expect(firstBytes(disk)).toEqual(keeps ? [1, 2] : []);
      // Nobody is left to be told.
      expect(settled).toBe(0);
      const reopened = await disk.open().openLog("room");
      expect(reopened.lastSeq()).toBe(keeps ? 2 : 0);
    },
  );

  test("[SM20] a full disk refuses what waits and works again afterwards; a damaged one cannot be read", async () => {
    const disk = createDisk();
    const log = await disk.open().openLog("room");
    disk.faults.isFull = true;
    const refused = log.append(bytesOf(1)).catch((error: { code: string }) => error.code);
    await time.advance(10);
    expect(await refused).toBe("storage_full");
    disk.faults.isFull = false;
    const appended = log.append(bytesOf(2));
    await time.advance(10);
    expect(await appended).toBe(1);
    disk.faults.isUnreadable = true;
    await expect(log.readDerived("anything")).rejects.toMatchObject({ code: "storage" });
  });

  test("[SM20] a backup is put back as it was, with what was derived from the log", async () => {
    const disk = createDisk();
    const store = disk.open();
    const log = await store.openLog("room");
    const write = async (byte: number): Promise<void> => {
      const written = [
        log.append(bytesOf(byte)),
        log.writeDerived("d", bytesOf(byte)),
        store.writeValue("v", bytesOf(byte)),
      ];
      await time.advance(10);
      await Promise.all(written);
    };
    await write(1);
    const image: DiskImage = disk.backUp();
    await write(2);
    expect(() => disk.restore(image)).toThrow("in use");
    disk.crash(false);
    disk.restore(image);
    const restored = disk.open();
    const restoredLog = await restored.openLog("room");
    expect(firstBytes(disk)).toEqual([1]);
    expect(await restoredLog.readDerived("d")).toEqual(bytesOf(1));
    expect(await restored.readValue("v")).toEqual(bytesOf(1));
    expect([...disk.contents()]).toHaveLength(3);
  });

  test("[SM20] a range of updates is replaced by a merged one at its last position", async () => {
    const disk = createDisk();
    const log = await disk.open().openLog("room");
    const appended = Promise.all([1, 2, 3, 4].map((byte) => log.append(bytesOf(byte))));
    await time.advance(10);
    await appended;
    const replaced = log.replaceRange(2, 3, bytesOf(23));
    await time.advance(10);
    await replaced;
    expect(disk.updatesOf("room").map(({ seq }) => seq)).toEqual([1, 3, 4]);
    expect(firstBytes(disk)).toEqual([1, 23, 4]);
    const missing = log.replaceRange(1, 2, bytesOf(0)).catch((error: { code: string }) => error.code);
    await time.advance(10);
    expect(await missing).toBe("not_found");
    const read: number[] = [];
    for await (const { seq } of log.read(1)) read.push(seq);
    expect(read).toEqual([3, 4]);
    await settlePromises();
  });

  test("[SM20] a reading that has not begun when its end is merged with what came behind it misses nothing", async () => {
    const disk = new SimulatedDisk({ commitMs: () => 10, readMs: () => 50 });
    const opened = disk.open().openLog("room");
    await time.advance(50);
    const log = await opened;
    const write = async (...bytes: number[]): Promise<void> => {
      const appended = Promise.all(bytes.map((byte) => log.append(bytesOf(byte))));
      await time.advance(10);
      await appended;
    };
    await write(1, 2, 3);
    const read: number[] = [];
    const reading = (async () => {
      for await (const { seq } of log.read(1)) read.push(seq);
    })();
    await write(4, 5);
    const replaced = log.replaceRange(1, 4, bytesOf(14));
    await time.advance(10);
    await replaced;
    await time.advance(50);
    await reading;
    expect(read).toEqual([4]);
  });
});
