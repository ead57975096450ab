import { cp, rename, rm, stat } from "node:fs/promises";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { expectCode } from "@coppice/testkit";
import { expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "./temp-folder.ts";

const update = Uint8Array.of(1, 2, 3);

test("[UL36] an append to a store whose folder was deleted is refused, again and again, and makes no new one", async () => {
  const folder = await makeTempFolder();
  const store = await openLmdbStore({ path: folder });
  onTestFinished(() => store.close());
  const log = await store.openLog("room");
  expect(await log.append(update)).toBe(1);
  await rm(folder, { recursive: true });
  for (let attempt = 0; attempt < 2; attempt++) {
    const error = await expectCode(log.append(update), "storage");
    expect(error.message).toBe(`The store in ${folder} is gone. Bring its folder back and try again.`);
    await expectCode(store.writeValue("key", update), "storage");
  }
  await expect(stat(folder)).rejects.toThrow("ENOENT");
});

test("[UL36] the folder is deleted while appends are under way: none settles after it is gone", async () => {
  const folder = await makeTempFolder();
  const store = await openLmdbStore({ path: folder });
  onTestFinished(() => store.close());
  const log = await store.openLog("room");
  await log.append(update);
  let isGone = false;
  let settledLate = 0;
  let refused = 0;
  const appending = Promise.all(
    Array.from({ length: 3 }, async () => {
      for (let count = 0; count < 1000; count++) {
        const wasGone = isGone; // an append that began before may have been durable in time
        try {
          await log.append(update);
          if (wasGone) settledLate++;
        } catch {
          if (++refused > 10) return;
        }
      }
    }),
  );
  await log.append(update);
  await rm(folder, { recursive: true });
  isGone = true;
  await appending;
  expect(settledLate).toBe(0);
  expect(refused).toBeGreaterThan(10);
});

test("[UL36] reads of a store whose folder is gone are refused; it goes on when the folder is back", async () => {
  const folder = await makeTempFolder();
  const store = await openLmdbStore({ path: folder });
  onTestFinished(() => store.close());
  const log = await store.openLog("room");
  await log.append(update);
  await rename(folder, `${folder}-away`);
  onTestFinished(() => rm(`${folder}-away`, { recursive: true, force: true }));
  await expectCode(store.listLogs(), "storage");
  await expectCode(log.readDerived("index"), "storage");
  await expectCode(log.append(update), "storage");
  await rename(`${folder}-away`, folder);
  expect(await store.listLogs()).toEqual(["room"]);
  expect(await log.append(update)).toBe(2);
});

test("[UL36] a copy put in the store's place is refused once and then used", async () => {
  const folder = await makeTempFolder();
  const store = await openLmdbStore({ path: folder });
  onTestFinished(() => store.close());
  const log = await store.openLog("room");
  await log.append(update);
  await cp(folder, `${folder}-copy`, { recursive: true });
  await log.append(update);
  await rm(folder, { recursive: true });
  await rename(`${folder}-copy`, folder);
  const error = await expectCode(log.append(update), "storage");
  expect(error.message).toBe(
    `The store in ${folder} was replaced while it was open. Try again to use the one that is there now.`,
  );
  expect(await log.append(update)).toBe(2);
});

test("[UL37] reads while a store is opened anew after a failure are never made on the one that closes", async () => {
  const folder = await makeTempFolder();
  const store = await openLmdbStore({ path: folder });
  onTestFinished(() => store.close());
  const log = await store.openLog("room");
  for (let round = 0; round < 20; round++) {
    await log.append(update);
    await cp(folder, `${folder}-copy`, { recursive: true });
    await rm(folder, { recursive: true });
    await rename(`${folder}-copy`, folder);
    // The first notices and has the store opened anew; what comes meanwhile waits for that.
    const refused = expectCode(log.append(update), "storage");
    let isOver = false;
    const reading = (async () => {
      const messages = new Set<string>();
      while (!isOver) {
        await store.listLogs().catch((error: Error) => messages.add(error.message));
        await new Promise(setImmediate);
      }
      return messages;
    })();
    await refused;
    isOver = true;
    for (const message of await reading) expect(message).toContain("was replaced while it was open");
    expect(await store.listLogs()).toEqual(["room"]);
  }
});
