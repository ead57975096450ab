import { createHash } from "node:crypto";
import {
  type AckPair,
  type CloseReason,
  closeCodes,
  encodeUpdate,
  parseUpdate,
  protocolVersion,
  type Struct,
} from "@coppice/wire";
import { expect, test } from "vitest";
import * as Y from "yjs";
import { indexSnapshotName } from "../src/index-snapshot.ts";
import { MemoryUpdateStore } from "./memory-update-store.ts";
import type { RawClient } from "./raw-client.ts";
import { type RelayFixture, startRelay } from "./relay-fixture.ts";
import { firstBytesOf, recordsOf, replay, Writer } from "./writer.ts";

/** The pair that acknowledges the first so many records of a document's client. */
function ackPair(doc: Y.Doc, client: number, clock: number): AckPair {
  const parsed = parseUpdate(Y.encodeStateAsUpdate(doc));
  let check = new Uint8Array(8);
  for (const struct of parsed.ok ? parsed.value.structs : []) {
    if (struct.client !== client || struct.clock >= clock) continue;
    const hash = createHash("sha256").update(check).update(struct.encoded).digest();
    check = new Uint8Array(hash.subarray(0, 8));
  }
  return { client, clock, check };
}

/** What a room holds, as a new reader gets it. */
async function readRoom(fixture: RelayFixture, room: string): Promise<Y.Doc> {
  const reader = await fixture.raw(room);
  reader.send({ type: "syncStep1", stateVector: new Map() });
  const last = await reader.take("syncStep2");
  const updates = reader.received.flatMap((frame) => (frame.type === "update" ? [frame.update] : []));
  return replay([...updates, last.update]);
}

/** Changes a document after two records and gives the update of that change. */
function liveUpdate(change: (doc: Y.Doc) => void): Uint8Array {
  const writer = new Writer(9);
  writer.push([1]);
  writer.push([2]);
  change(writer.doc);
  return writer.updates.at(-1) as Uint8Array;
}

const entriesOf = (doc: Y.Doc) => doc.getArray<unknown>("entries");
const record = [3, 1, 7, ...Buffer.from("entries"), 1, 1];

const offences: ReadonlyArray<[string, CloseReason, Uint8Array]> = [
  ["a delete", "deleteNotAllowed", liveUpdate((doc) => entriesOf(doc).delete(0))],
  ["an insert in the middle", "middleInsert", liveUpdate((doc) => entriesOf(doc).insert(1, [new Uint8Array([3])]))],
  ["an object", "foreignContent", liveUpdate((doc) => entriesOf(doc).push([{ a: 1 }]))],
  ["a key of a map", "foreignContent", liveUpdate((doc) => doc.getMap("map").set("a", new Uint8Array([1])))],
  ["a cycle", "cyclicOrigins", new Uint8Array([1, 1, 9, 2, 0x83, 9, 2, 1, 1, 0])],
  ["a cut update", "badUpdate", new Uint8Array([1, 1, 9, 2, 0x83, 9, 1, 5, 1])],
  ["no update at all", "badUpdate", new Uint8Array()],
  ["too many structs", "tooManyStructs", new Uint8Array([1, 0x81, 0x80, 1, 9, 2])],
  ["too many clients", "tooManyClients", new Uint8Array([0x81, 0x20, 1, 9, 2])],
  ["a record too big", "recordTooBig", new Uint8Array([1, 1, 9, 2, 0x83, 9, 1, 0x81, 0x80, 0x80, 4, 0])],
  [
    "other content for a struct that is held",
    "conflictingHistory",
    new Uint8Array([1, 1, 9, 0, ...record.slice(0, -1), 7, 0]),
  ],
];

for (const [name, reason, update] of offences) {
  test(`[RL8] [RL10] ${name} closes its sender with ${reason} and changes nothing for anybody`, async () => {
    const fixture = await startRelay();
    const honest = await fixture.follower("room");
    const writer = new Writer(9);
    honest.sendUpdate(writer.push([1]));
    honest.sendUpdate(writer.push([2]));
    await honest.acknowledged(9, 2);
    const stored = structuredClone(fixture.store.logs.get("room"));

    const offender = await fixture.raw("room");
    offender.sendUpdate(update);
    const late = new Writer(50);
    if (offender.socket.readyState === offender.socket.OPEN) offender.sendUpdate(late.push([99]));
    expect(await offender.closed).toMatchObject({ code: closeCodes[reason] });

    expect(fixture.store.logs.get("room")).toEqual(stored);
    await honest.barrier();
    expect(honest.received.filter(({ type }) => type === "update")).toEqual([]);
    honest.sendUpdate(writer.push([3]));
    await honest.acknowledged(9, 3);
    expect(firstBytesOf(await readRoom(fixture, "room"))).toEqual([1, 2, 3]);
  });
}

test("[RL8] of a refused update nothing is kept, also not the part that would fit", async () => {
  const fixture = await startRelay();
  const writer = new Writer(9);
  const good = parseUpdate(writer.push([1]));
  if (!good.ok) throw new Error(good.error);
  const circular: Struct = {
    client: 4,
    clock: 0,
    origin: { client: 4, clock: 0 },
    record: new Uint8Array(),
    encoded: new Uint8Array([0x83, 4, 0, 0]),
  };
  const offender = await fixture.raw("room");
  offender.sendUpdate(encodeUpdate([...good.value.structs, circular]));
  expect((await offender.closed).code).toBe(closeCodes.cyclicOrigins);
  expect(recordsOf(await readRoom(fixture, "room"))).toEqual([]);
  expect(fixture.store.logs.get("room")).toEqual([]);
});

test("[RL8] a stock client that deletes is closed for good and does not come back; the others go on", async () => {
  const { stock } = await startRelay();
  const [a, b, c] = [stock("room"), stock("room"), stock("room")];
  await Promise.all([a.synced(), b.synced(), c.synced()]);
  a.push(1);
  a.push(2);
  await Promise.all([b.hasRecords(2), c.hasRecords(2)]);
  const refused = b.refused();
  entriesOf(b.doc).delete(0);
  expect(await refused).toBe(closeCodes.deleteNotAllowed);
  expect(b.provider.shouldConnect).toBe(false);
  c.push(3);
  await a.hasRecords(3);
  expect(a.firstBytes()).toEqual([1, 2, 3]);
  expect(c.firstBytes()).toEqual([1, 2, 3]);
});

test("[RL10] what is delivered again is compared, stored once, not forwarded again, and acknowledged again", async () => {
  const fixture = await startRelay();
  const witness = await fixture.follower("room");
  const writer = new Writer(9);
  const sender = await fixture.raw("room");
  sender.send({ type: "ackRequest", version: protocolVersion, clients: [] });
  await sender.take("ack");
  sender.sendUpdate(writer.push([1]));
  sender.sendUpdate(writer.push([2]));
  await sender.take("ack", ({ pairs }) => pairs.some(({ clock }) => clock === 2));
  sender.send({ type: "syncStep2", update: writer.state() });
  expect((await sender.take("ack")).pairs).toEqual([ackPair(writer.doc, 9, 2)]);
  expect(fixture.store.logs.get("room")).toHaveLength(2);
  writer.push([3]);
  sender.send({ type: "syncStep2", update: writer.state() });
  expect((await sender.take("ack")).pairs).toEqual([ackPair(writer.doc, 9, 3)]);
  expect(fixture.store.logs.get("room")).toHaveLength(3);
  await witness.acknowledged(9, 3);
  await witness.barrier();
  expect(witness.received.flatMap((frame) => (frame.type === "update" ? [frame.update] : []))).toEqual(writer.updates);
});

test("[RL10] a conflict with a struct whose commit is still on its way is found too", async () => {
  const fixture = await startRelay();
  let letCommit = (): void => {};
  const committing = new Promise<void>((resolve) => {
    letCommit = resolve;
  });
  fixture.store.hooks.beforeCommit = () => committing;
  const [a, b] = [await fixture.raw("room"), await fixture.raw("room")];
  a.sendUpdate(new Writer(9).push([1]));
  await a.barrier();
  b.sendUpdate(new Writer(9).push([2]));
  letCommit();
  expect((await b.closed).code).toBe(closeCodes.conflictingHistory);
  await a.acknowledged(9, 1);
  expect(firstBytesOf(await readRoom(fixture, "room"))).toEqual([1]);
});

/** Yjs' merge of the updates at these indexes: a hole between them becomes a skip. */
const pick = (writer: Writer, indexes: readonly number[]): Uint8Array =>
  Y.mergeUpdates(indexes.map((index) => writer.updates[index] as Uint8Array));

async function takeMissingQuestion(client: RawClient): Promise<ReadonlyMap<number, number>> {
  return (await client.take("syncStep1")).stateVector;
}

test("[RL11] a skip is no offence: what fits is kept, the rest dropped, and the client is asked for what is missing (F14)", async () => {
  const fixture = await startRelay();
  const writer = new Writer(9);
  for (let i = 0; i < 6; i += 1) writer.push([i]);
  const sender = await fixture.raw("room");
  sender.sendUpdate(pick(writer, [0, 1, 4, 5]));
  await takeMissingQuestion(sender);
  await sender.acknowledged(9, 2);
  expect(firstBytesOf(await readRoom(fixture, "room"))).toEqual([0, 1]);
  sender.send({ type: "syncStep2", update: writer.state() });
  await sender.acknowledged(9, 6);
  expect(firstBytesOf(await readRoom(fixture, "room"))).toEqual([0, 1, 2, 3, 4, 5]);
});

test("[RL11] one update of ten is lost on the way: the relay asks once, and all is there (F12)", async () => {
  const fixture = await startRelay();
  const witness = await fixture.follower("room");
  const writer = new Writer(9);
  const sender = await fixture.raw("room");
  for (let i = 0; i < 10; i += 1) {
    const update = writer.push([i]);
    if (i !== 3) sender.sendUpdate(update);
  }
  await takeMissingQuestion(sender);
  await sender.barrier();
  expect(sender.received.filter(({ type }) => type === "syncStep1")).toHaveLength(1);
  sender.send({ type: "syncStep2", update: writer.state() });
  const got: Uint8Array[] = [];
  for (let count = 0; count < 10; count = recordsOf(replay(got)).length) got.push(await witness.takeUpdate());
  expect(firstBytesOf(replay(got))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("[RL11] a client whose hole stays is asked again only after something came and some time passed, and is never closed", async () => {
  const fixture = await startRelay({ gapBackoffMs: 20 });
  const stuck = new Writer(9);
  for (let i = 0; i < 4; i += 1) stuck.push([i]);
  const sender = await fixture.raw("room");
  const sendGap = (): void => sender.sendUpdate(pick(stuck, [2, 3]));
  const startedAt = performance.now();
  sendGap();
  await takeMissingQuestion(sender);
  for (let i = 0; i < 5; i += 1) sendGap();
  await sender.barrier();
  expect(sender.received.filter(({ type }) => type === "syncStep1")).toHaveLength(1);

  const other = await fixture.raw("room");
  other.sendUpdate(new Writer(5).push([1]));
  await other.acknowledged(5, 1);
  sendGap();
  expect(await takeMissingQuestion(sender)).toEqual(new Map([[5, 1]]));
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(20);
  expect(sender.socket.readyState).toBe(sender.socket.OPEN);
});

test("[RL12] [RL13] nothing is acknowledged or forwarded before it is durable", async () => {
  const fixture = await startRelay();
  const witness = await fixture.follower("room");
  let letCommit = (): void => {};
  const committing = new Promise<void>((resolve) => {
    letCommit = resolve;
  });
  fixture.store.hooks.beforeCommit = () => committing;
  const sender = await fixture.raw("room");
  sender.send({ type: "ackRequest", version: protocolVersion, clients: [9] });
  expect((await sender.take("ack")).pairs).toEqual([{ client: 9, clock: 0, check: null }]);
  const writer = new Writer(9);
  sender.sendUpdate(writer.push([1]));
  await sender.barrier();
  await witness.barrier();
  const newcomer = await fixture.raw("room");
  newcomer.send({ type: "syncStep1", stateVector: new Map() });
  expect((await newcomer.take("syncStep1")).stateVector).toEqual(new Map());
  expect(sender.received.filter(({ type }) => type === "ack")).toHaveLength(1);
  expect(witness.received.filter(({ type }) => type === "update")).toEqual([]);
  letCommit();
  await witness.take("update");
  await newcomer.take("update");
  expect((await sender.take("ack")).pairs).toEqual([ackPair(writer.doc, 9, 1)]);
});

test("[RL13] acknowledgements go to connections that asked, for what they delivered and for clients they named", async () => {
  const fixture = await startRelay();
  const [stockLike, deliverer, watcher, reader] = [
    await fixture.follower("room"),
    await fixture.raw("room"),
    await fixture.raw("room"),
    await fixture.raw("room"),
  ];
  deliverer.send({ type: "ackRequest", version: protocolVersion, clients: [] });
  watcher.send({ type: "ackRequest", version: protocolVersion, clients: [9, 77] });
  reader.send({ type: "ackRequest", version: protocolVersion, clients: [] });
  expect((await watcher.take("ack")).pairs).toEqual([
    { client: 9, clock: 0, check: null },
    { client: 77, clock: 0, check: null },
  ]);
  await Promise.all([deliverer.take("ack"), reader.take("ack")]);
  const [nine, ten] = [new Writer(9), new Writer(10)];
  deliverer.sendUpdate(nine.push([1]));
  stockLike.sendUpdate(ten.push([2]));
  expect((await deliverer.take("ack")).pairs).toEqual([ackPair(nine.doc, 9, 1)]);
  expect((await watcher.take("ack")).pairs).toEqual([ackPair(nine.doc, 9, 1)]);
  await stockLike.take("update");
  await Promise.all([reader.barrier(), watcher.barrier()]);
  expect(reader.received.filter(({ type }) => type === "ack")).toHaveLength(1);
  expect(watcher.received.filter(({ type }) => type === "ack")).toHaveLength(2);
  expect(stockLike.received.some(({ type }) => type === "ack")).toBe(false);
  reader.send({ type: "ackRequest", version: protocolVersion, clients: [] });
  expect((await reader.take("ack")).pairs.toSorted((left, right) => left.client - right.client)).toEqual([
    ackPair(nine.doc, 9, 1),
    ackPair(ten.doc, 10, 1),
  ]);
});

test("[RL13] updates committed together are acknowledged together", async () => {
  const fixture = await startRelay();
  const sender = await fixture.raw("room");
  sender.send({ type: "ackRequest", version: protocolVersion, clients: [] });
  await sender.take("ack");
  let letCommit = (): void => {};
  const committing = new Promise<void>((resolve) => {
    letCommit = resolve;
  });
  fixture.store.hooks.beforeCommit = () => committing;
  const writer = new Writer(9);
  for (let i = 0; i < 20; i += 1) sender.sendUpdate(writer.push([i]));
  await sender.barrier();
  letCommit();
  await sender.take("ack", ({ pairs }) => pairs.some(({ clock }) => clock === 20));
  expect(sender.received.filter(({ type }) => type === "ack").length).toBeLessThan(5);
});

test("[RL63] acknowledgements carry the check of all records they speak of, also after a restart with or without a snapshot", async () => {
  const store = new MemoryUpdateStore();
  const [nine, ten] = [new Writer(9), new Writer(10)];
  const first = await startRelay({}, store);
  const sender = await first.follower("room");
  for (let i = 0; i < 250; i += 1) sender.sendUpdate(nine.push([i, 1]));
  ten.push([1]);
  ten.push([7]);
  sender.sendUpdate(ten.state());
  await sender.acknowledged(10, 2);
  await first.relay.close();
  const expected = [ackPair(nine.doc, 9, 250), ackPair(ten.doc, 10, 2), { client: 11, clock: 0, check: null }];
  const askAgain = async (): Promise<readonly AckPair[]> => {
    const { relay, raw } = await startRelay({}, store);
    const client = await raw("room");
    client.send({ type: "ackRequest", version: protocolVersion, clients: [9, 10, 11] });
    const { pairs } = await client.take("ack");
    await relay.close();
    return pairs;
  };
  expect([...store.derived.keys()]).toContain(`room/${indexSnapshotName}`);
  expect(await askAgain()).toEqual(expected);
  store.derived.clear();
  expect(await askAgain()).toEqual(expected);
});

test("[RL100] a client of an earlier version, whose checks were of something else, is acknowledged without them", async () => {
  const { raw } = await startRelay();
  const sender = await raw("room");
  sender.send({ type: "ackRequest", version: 1, clients: [] });
  await sender.take("ack");
  sender.sendUpdate(new Writer(9).push([1]));
  expect((await sender.take("ack")).pairs).toEqual([{ client: 9, clock: 1, check: null }]);
});
