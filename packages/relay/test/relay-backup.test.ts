import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { backUpLmdbStore, openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay, type Relay } from "@coppice/relay";
import { expect, onTestFinished, test } from "vitest";
import { RawClient } from "./raw-client.ts";
import { makeTempFolder } from "./relay-process.ts";
import { openStockClient } from "./stock-client.ts";
import { firstBytesOf, replay, Writer } from "./writer.ts";

async function openRelayOn(path: string): Promise<Relay> {
  const store = await openLmdbStore({ path });
  const relay = await openRelay({ store, auth: "open" });
  onTestFinished(async () => {
    await relay.close();
    await store.close();
  });
  return relay;
}

test("[RL72] [UL38] a copy made while the relay is written to holds all that was acknowledged before; a relay on it is refilled by the devices", async () => {
  const folder = await makeTempFolder();
  const relay = await openRelayOn(join(folder, "data"));
  const sender = await RawClient.open(`${relay.url}/room`);
  const writer = new Writer(5);
  const count = 400;
  const push = (from: number, to: number): void => {
    for (let i = from; i < to; i += 1) sender.sendUpdate(writer.push(new Uint8Array(500).fill(i % 256)));
  };
  push(0, count);
  await sender.acknowledged(5, count);
  push(count, 2 * count);
  const backup = join(folder, "copy");
  await backUpLmdbStore({ from: join(folder, "data"), to: backup });
  push(2 * count, 3 * count);
  await sender.acknowledged(5, 3 * count);
  expect(await readdir(backup)).toEqual(["data.mdb"]);
  expect((await stat(join(backup, "data.mdb"))).mode & 0o777).toBe(0o600);
  await expect(backUpLmdbStore({ from: join(folder, "data"), to: backup })).rejects.toMatchObject({ code: "storage" });
  await expect(backUpLmdbStore({ from: folder, to: join(folder, "x") })).rejects.toMatchObject({ code: "storage" });

  const restored = await openRelayOn(backup);
  const reader = await RawClient.open(`${restored.url}/room`);
  reader.send({ type: "syncStep1", stateVector: new Map() });
  const { stateVector } = await reader.take("syncStep1");
  const held = stateVector.get(5) ?? 0;
  expect(held).toBeGreaterThanOrEqual(count);
  expect(held).toBeLessThan(3 * count);
  const device = openStockClient(restored.url, "room", writer.doc);
  onTestFinished(() => device.destroy());
  await reader.acknowledged(5, 3 * count);
  const again = await RawClient.open(`${restored.url}/room`);
  again.send({ type: "syncStep1", stateVector: new Map() });
  await again.take("syncStep2");
  const got = again.received.flatMap((frame) =>
    frame.type === "update" || frame.type === "syncStep2" ? [frame.update] : [],
  );
  expect(firstBytesOf(replay(got))).toEqual(firstBytesOf(writer.doc));
});
