import { createHash } from "node:crypto";
import { openRelay } from "@coppice/relay";
import { closeCodes, deriveRoomId, digestStateVector, maxRoomsPerRequest, type RoomHead } from "@coppice/wire";
import { expect, onTestFinished, test, vi } from "vitest";
import { decodeLogHead, encodeLogHead } from "../src/log-head.ts";
import { spend } from "../src/rate-budget.ts";
import { MemoryUpdateStore } from "./memory-update-store.ts";
import { RawClient } from "./raw-client.ts";
import { type RelayFixture, startRelay } from "./relay-fixture.ts";
import { Writer } from "./writer.ts";

const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();
const secret = new Uint8Array(32).fill(7);

async function ask(client: RawClient, rooms: string[]): Promise<readonly RoomHead[]> {
  client.send({ type: "headsRequest", rooms });
  return (await client.take("heads")).heads;
}

/** Stores this many updates of one record in a room, and leaves it. */
async function fill({ follower }: RelayFixture, room: string, client: number, updates: number): Promise<number> {
  const connection = await follower(room);
  const writer = new Writer(client);
  let bytes = 0;
  for (let i = 0; i < updates; i += 1) {
    const update = writer.push([i]);
    bytes += update.length;
    connection.sendUpdate(update);
  }
  await connection.acknowledged(client, updates);
  await connection.close();
  return bytes;
}

test("[RL120] [WI40] heads tell what is durable of rooms, that one was deleted, and of all else that it is unknown", async () => {
  const store = new MemoryUpdateStore();
  const filler = await startRelay({}, store);
  await fill(filler, "aside", 5, 1);
  await filler.relay.close();
  const relay = await openRelay({ store, auth: "open", quarantinedRooms: ["aside"] });
  onTestFinished(() => relay.close());
  const open = async (room: string): Promise<RawClient> => {
    const client = await RawClient.open(`${relay.url}/${room}`);
    onTestFinished(() => client.socket.terminate());
    return client;
  };
  const before = Date.now();
  const writer = await open("full");
  const five = new Writer(5);
  const updates = [five.push([1]), five.push([2, 3])];
  for (const update of updates) writer.sendUpdate(update);
  await writer.acknowledged(5, 2);
  const gone = deriveRoomId(secret, sha256);
  const owner = await open(gone);
  owner.sendUpdate(new Writer(6).push([1]));
  await owner.acknowledged(6, 1);
  owner.send({ type: "deleteRoom", secret });
  expect((await owner.closed).code).toBe(closeCodes.roomDeleted);

  const asker = await open("list");
  const heads = await ask(asker, ["full", gone, "aside", "never", "no/room", "", "full"]);
  expect(heads.slice(1)).toEqual([
    { room: gone, state: "deleted" },
    ...["aside", "never", "no/room", ""].map((room) => ({ room, state: "unknown" })),
  ]);
  const [full] = heads;
  if (full?.state !== "present") throw new Error("the room is there");
  const { updatedAtMs, ...rest } = full;
  expect(updatedAtMs).toBeGreaterThanOrEqual(before);
  expect(updatedAtMs).toBeLessThanOrEqual(Date.now());
  expect(rest).toEqual({
    room: "full",
    state: "present",
    digest: new Uint8Array(digestStateVector(new Map([[5, 2]]), sha256)),
    records: 2,
    bytes: updates.reduce((sum, { length }) => sum + length, 0),
  });
  // Asking makes nothing: neither a log nor a room in memory.
  expect((await store.listLogs()).sort()).toEqual(["aside", "full"]);
});

test("[RL120] what is on its way to the disk is not told", async () => {
  const { store, follower } = await startRelay();
  const client = await follower("room");
  let letCommit = (): void => {};
  store.hooks.beforeCommit = () =>
    new Promise((resolve) => {
      letCommit = resolve;
    });
  client.sendUpdate(new Writer(5).push([1]));
  await client.barrier();
  expect(await ask(client, ["room"])).toEqual([{ room: "room", state: "unknown" }]);
  letCommit();
  await client.acknowledged(5, 1);
  expect(await ask(client, ["room"])).toMatchObject([{ state: "present", records: 1 }]);
});

test("[RL120] a room that cannot be read is unknown, and the others are told", async () => {
  const { store, ...fixture } = await startRelay({ roomIdleMs: 0 });
  await fill({ store, ...fixture }, "bad", 5, 1);
  await fill({ store, ...fixture }, "good", 5, 1);
  await vi.waitFor(() => expect(fixture.relay.readStats().rooms).toBe(0));
  store.hooks.beforeOpen = async (log) => {
    if (log === "bad") throw new Error("the disk says no");
  };
  const asker = await fixture.follower("list");
  expect(await ask(asker, ["bad", "good"])).toMatchObject([{ state: "unknown" }, { state: "present" }]);
});

test("[RL121] the head of a room that has left memory is told without loading it, and is that of its log", async () => {
  const { store, ...fixture } = await startRelay({ roomIdleMs: 0 });
  const before = Date.now();
  const bytes = await fill({ store, ...fixture }, "room", 5, 3);
  const after = Date.now();
  await vi.waitFor(() => expect(fixture.relay.readStats().rooms).toBe(0));
  const asker = await fixture.follower("list");
  store.hooks.beforeRead = async () => {
    throw new Error("read");
  };
  const [head] = await ask(asker, ["room"]);
  expect(head).toMatchObject({ state: "present", records: 3, bytes });
  if (head?.state !== "present") throw new Error("the room is there");
  expect(head.updatedAtMs).toBeGreaterThanOrEqual(before);
  expect(head.updatedAtMs).toBeLessThanOrEqual(after);
  expect(fixture.relay.readStats().rooms).toBe(1);
});

test("[RL121] after a crash a room is loaded for its head once, given up, and its time is kept", async () => {
  const crashed = await startRelay();
  const before = Date.now();
  const client = await crashed.follower("room");
  const writer = new Writer(5);
  for (let i = 0; i < 3; i += 1) client.sendUpdate(writer.push([i]));
  await client.acknowledged(5, 3);
  // What another relay finds there is what a kill would leave: the head of before the last updates.
  const { relay, store, follower } = await startRelay({}, crashed.store);
  const reads: string[] = [];
  store.hooks.beforeRead = async (log) => {
    reads.push(log);
  };
  const asker = await follower("list");
  reads.length = 0;
  const [head] = await ask(asker, ["room"]);
  expect(head).toMatchObject({ state: "present", records: 3 });
  if (head?.state !== "present") throw new Error("the room is there");
  expect(head.updatedAtMs).toBeGreaterThanOrEqual(before);
  expect(reads).toEqual(["room"]);
  await vi.waitFor(() => expect(relay.readStats().rooms).toBe(1));
  expect(await ask(asker, ["room"])).toEqual([head]);
  expect(reads).toEqual(["room"]);
});

test("[RL121] a kept head of another version, or cut short, is none", () => {
  const head = { upTo: 7, updatedAtMs: 1_764_547_200_000, records: 9, bytes: 300, digest: new Uint8Array(8).fill(3) };
  const encoded = encodeLogHead(head);
  expect(decodeLogHead(encoded)).toEqual(head);
  for (let length = 0; length < encoded.length; length += 1)
    expect(decodeLogHead(encoded.subarray(0, length))).toBeUndefined();
  expect(decodeLogHead(new Uint8Array([2, ...encoded.subarray(1)]))).toBeUndefined();
  expect(decodeLogHead(new Uint8Array([...encoded, 0]))).toBeUndefined();
});

test("[RL122] a question for too many rooms is refused and the connection stays", async () => {
  const { follower } = await startRelay({ maxHeadsAtOnce: 1_500, maxHeadsPerSecond: 0 });
  const asker = await follower("list");
  const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `room${i}`);
  asker.send({ type: "headsRequest", rooms: names(maxRoomsPerRequest + 1) });
  expect(await asker.take("refused")).toMatchObject({ code: closeCodes.frameTooBig });
  expect(await ask(asker, names(maxRoomsPerRequest))).toHaveLength(maxRoomsPerRequest);
  asker.send({ type: "headsRequest", rooms: names(501) });
  expect(await asker.take("refused")).toMatchObject({ code: closeCodes.busy });
  expect(await ask(asker, names(500))).toHaveLength(500);
});

test("[RL122] a budget fills up with time, to its bound, and is never overdrawn", () => {
  const limit = { perSecond: 10, atOnce: 100 };
  const spent = spend(undefined, 100, 0, limit);
  expect(spent).toEqual({ left: 0, atMs: 0 });
  expect(spend(spent, 1, 99, limit)).toBeUndefined();
  expect(spend(spent, 5, 500, limit)).toEqual({ left: 0, atMs: 500 });
  expect(spend(spent, 0, 1_000_000, limit)).toEqual({ left: 100, atMs: 1_000_000 });
  expect(spend(undefined, 101, 0, limit)).toBeUndefined();
});
