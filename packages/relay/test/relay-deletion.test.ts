import { createHash } from "node:crypto";
import type { UpdateStore } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay } from "@coppice/relay";
import { closeCodes, deriveRoomId } from "@coppice/wire";
import { expect, onTestFinished, test } from "vitest";
import { MemoryUpdateStore } from "./memory-update-store.ts";
import { RawClient } from "./raw-client.ts";
import { startRelay } from "./relay-fixture.ts";
import { makeTempFolder } from "./relay-process.ts";
import { firstBytesOf, replay, Writer } from "./writer.ts";

const secret = new Uint8Array(32).fill(7);
const room = deriveRoomId(secret, (bytes) => createHash("sha256").update(bytes).digest());

test("[RL67] the secret of a room deletes it: everybody is closed with 4410, later ones too, and other rooms live", async () => {
  const { raw, follower, store, relay } = await startRelay();
  const [owner, reader, other] = [await follower(room), await follower(room), await follower("other")];
  owner.sendUpdate(new Writer(5).push([1]));
  await owner.acknowledged(5, 1);
  owner.send({ type: "deleteRoom", secret });
  for (const client of [owner, reader]) expect((await client.closed).code).toBe(closeCodes.roomDeleted);
  for (let i = 0; i < 3; i += 1) {
    const late = await raw(room);
    late.sendUpdate(new Writer(5).push([1]));
    expect((await late.closed).code).toBe(closeCodes.roomDeleted);
    expect(late.received).toEqual([]);
  }
  expect(await store.listLogs()).toEqual([]);
  await other.barrier();
  await relay.close();
  const again = await startRelay({}, store);
  expect((await (await again.raw(room)).closed).code).toBe(closeCodes.roomDeleted);
});

test("[RL67] a wrong secret is refused and changes nothing", async () => {
  const { raw, follower } = await startRelay();
  const writer = new Writer(5);
  const client = await follower(room);
  client.sendUpdate(writer.push([1]));
  await client.acknowledged(5, 1);
  client.send({ type: "deleteRoom", secret: new Uint8Array(32).fill(8) });
  expect(await client.take("refused")).toMatchObject({ code: closeCodes.forbidden });
  client.sendUpdate(writer.push([2]));
  await client.acknowledged(5, 2);
  const reader = await raw(room);
  reader.send({ type: "syncStep1", stateVector: new Map() });
  expect(firstBytesOf(replay([(await reader.take("syncStep2")).update]))).toEqual([1, 2]);
});

test("[RL67] updates on their way while a room is deleted do not bring it back", async () => {
  const { follower, store, relay } = await startRelay();
  const [owner, sender] = [await follower(room), await follower(room)];
  const writer = new Writer(5);
  let letCommit = (): void => {};
  store.hooks.beforeCommit = () =>
    new Promise((resolve) => {
      letCommit = resolve;
    });
  sender.sendUpdate(writer.push([1]));
  await sender.barrier();
  owner.send({ type: "deleteRoom", secret });
  expect((await sender.closed).code).toBe(closeCodes.roomDeleted);
  letCommit();
  await relay.close();
  expect(sender.received.filter(({ type }) => type === "ack")).toEqual([]);
  expect(await store.listLogs()).toEqual([]);
});

test("[RL68] a deletion that was interrupted behind its tombstone is completed when the relay starts", async () => {
  const path = await makeTempFolder();
  const store = await openLmdbStore({ path });
  onTestFinished(() => store.close());
  const relay = await openRelay({ store, auth: "open" });
  const owner = await RawClient.open(`${relay.url}/${room}`);
  owner.sendUpdate(new Writer(5).push([1]));
  await owner.acknowledged(5, 1);
  const other = await RawClient.open(`${relay.url}/other`);
  other.sendUpdate(new Writer(5).push([1]));
  await other.acknowledged(5, 1);
  // The process ends between the tombstone and the removal of the log.
  const stuck = new Proxy(store, {
    get: (target, name: keyof UpdateStore) =>
      name === "deleteLog" ? () => new Promise(() => {}) : target[name].bind(target),
  });
  const interrupted = await openRelay({ store: stuck, auth: "open" });
  const second = await RawClient.open(`${interrupted.url}/${room}`);
  second.send({ type: "deleteRoom", secret });
  expect((await second.closed).code).toBe(closeCodes.roomDeleted);
  await relay.close();
  expect(await store.listLogs()).toEqual([room, "other"].sort());

  const restarted = await openRelay({ store, auth: "open" });
  onTestFinished(() => restarted.close());
  expect(await store.listLogs()).toEqual(["other"]);
  const late = await RawClient.open(`${restarted.url}/${room}`);
  expect((await late.closed).code).toBe(closeCodes.roomDeleted);
});

test("[RL69] nobody is let into a room that was put aside; what it holds stays, and other rooms live (F53)", async () => {
  const store = new MemoryUpdateStore();
  const first = await startRelay({}, store);
  const client = await first.follower("heavy");
  client.sendUpdate(new Writer(5).push([1]));
  await client.acknowledged(5, 1);
  await first.relay.close();
  const stored = structuredClone(store.logs.get("heavy"));
  const relay = await openRelay({ store, auth: "open", quarantinedRooms: ["heavy"] });
  onTestFinished(() => relay.close());
  const refused = await RawClient.open(`${relay.url}/heavy`);
  expect((await refused.closed).code).toBe(closeCodes.roomQuarantined);
  const other = await RawClient.open(`${relay.url}/other`);
  other.sendUpdate(new Writer(5).push([1]));
  await other.acknowledged(5, 1);
  expect(store.logs.get("heavy")).toEqual(stored);
});
