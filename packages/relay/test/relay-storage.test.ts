import { execFileSync } from "node:child_process";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay, type Relay, type RelayLimits } from "@coppice/relay";
import { closeCodes } from "@coppice/wire";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { RawClient } from "./raw-client.ts";
import { buildRelay, makeTempFolder, startRelayProcess } from "./relay-process.ts";
import { Writer } from "./writer.ts";

beforeAll(buildRelay);

async function openLmdbRelay(path: string, limits: Partial<RelayLimits>): Promise<Relay> {
  const store = await openLmdbStore({ path });
  const relay = await openRelay({ store, auth: "open", limits });
  onTestFinished(async () => {
    await relay.close();
    await store.close();
  });
  return relay;
}

test("[RL14] [RL32] an update that comes after the data folder was deleted is not acknowledged", async () => {
  const path = await makeTempFolder();
  const relay = await openLmdbRelay(path, { storeCheckIntervalMs: 3_600_000 });
  const sender = await RawClient.open(`${relay.url}/room`);
  const writer = new Writer(5);
  sender.sendUpdate(writer.push([1]));
  await sender.acknowledged(5, 1);
  await rm(path, { recursive: true });
  sender.sendUpdate(writer.push([2]));
  expect((await sender.closed).code).toBe(closeCodes.storageFailed);
  expect(sender.received.flatMap((frame) => (frame.type === "ack" ? frame.pairs : []))).not.toContainEqual(
    expect.objectContaining({ clock: 2 }),
  );
  const next = await RawClient.open(`${relay.url}/room`);
  next.send({ type: "ackRequest", version: 1, clients: [5] });
  expect((await next.closed).code).toBe(closeCodes.storageFailed);
  expect(next.received).toEqual([]);
});

test("[RL32] rooms nobody writes to are closed when the data folder is gone, and read again when it is back", async () => {
  const path = await makeTempFolder();
  const relay = await openLmdbRelay(path, { storeCheckIntervalMs: 5, storeLostAfterMs: 3_600_000 });
  const first = await RawClient.open(`${relay.url}/room`);
  first.sendUpdate(new Writer(5).push([1]));
  await first.acknowledged(5, 1);
  await rename(path, `${path}-away`);
  onTestFinished(() => rm(`${path}-away`, { recursive: true, force: true }));
  expect((await first.closed).code).toBe(closeCodes.storageFailed);
  const meanwhile = await RawClient.open(`${relay.url}/room`);
  meanwhile.send({ type: "ackRequest", version: 1, clients: [5] });
  expect((await meanwhile.closed).code).toBe(closeCodes.storageFailed);
  expect(meanwhile.received).toEqual([]);
  await rename(`${path}-away`, path);
  // A look that began while it was away may still close the first that comes.
  for (let isAcknowledged = false; !isAcknowledged; ) {
    const again = await RawClient.open(`${relay.url}/room`);
    const acknowledged = again.acknowledged(5, 1).then(() => true);
    isAcknowledged = await Promise.race([acknowledged, again.closed.then(() => false)]);
    acknowledged.catch(() => undefined);
  }
});

test("[RL32] a relay whose data folder stays away reports that it failed, and why", async () => {
  const path = await makeTempFolder();
  const relay = await openLmdbRelay(path, { storeCheckIntervalMs: 5, storeLostAfterMs: 50 });
  await rm(path, { recursive: true });
  const error = await relay.failed;
  expect(error).toMatchObject({ code: "storage", message: expect.stringContaining(`The store in ${path} is gone.`) });
});

const canMount = process.platform === "linux" && process.getuid?.() === 0;

test.skipIf(!canMount)(
  "[RL33] a relay lives through a full disk, serves what it has and goes on when there is space",
  async () => {
    const disk = await makeTempFolder();
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", disk]);
    onTestFinished(() => {
      execFileSync("umount", ["--lazy", disk]);
    });
    const relay = await startRelayProcess(join(disk, "data"));
    const writer = new Writer(5);
    const push = (count: number): Uint8Array[] =>
      Array.from({ length: count }, () => writer.push(new Uint8Array(30_000)));
    const first = await RawClient.open(`${relay.url}/room`);
    first.sendUpdate(writer.push([1]));
    await first.acknowledged(5, 1);
    for (let round = 1; round <= 3; round += 1) {
      await writeFile(join(disk, "filling"), new Uint8Array(4 * 1024 * 1024)).catch((error: unknown) => {
        if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
      });
      const updates = push(5);
      for (let attempt = 0; attempt < 5; attempt += 1) {
        const sender = await RawClient.open(`${relay.url}/room`);
        sender.send({ type: "syncStep1", stateVector: new Map() });
        await sender.take("syncStep2");
        sender.send({ type: "ackRequest", version: 1, clients: [] });
        for (const update of updates) sender.sendUpdate(update);
        // The first write finds it out and closes the room; from then on what is sent is refused.
        const refused = sender.take("refused").then(({ code }) => code);
        const codes = [refused.catch(() => undefined), sender.closed.then(({ code }) => code)];
        expect(await Promise.race(codes)).toBe(closeCodes.storageFull);
        sender.socket.terminate();
      }
      await rm(join(disk, "filling"));
      const sender = await RawClient.open(`${relay.url}/room`);
      sender.send({ type: "ackRequest", version: 1, clients: [5] });
      for (const update of updates) sender.sendUpdate(update);
      // What the relay did not take it asks for.
      const answer = async (): Promise<void> => {
        for (;;) {
          await sender.take("syncStep1");
          sender.send({ type: "syncStep2", update: writer.state() });
        }
      };
      const answering = answer().catch(() => "closed");
      await sender.acknowledged(5, 1 + 5 * round);
      sender.socket.terminate();
      expect(await answering).toBe("closed");
    }
  },
);
