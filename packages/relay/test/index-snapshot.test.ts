import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeIndexSnapshot, encodeIndexSnapshot, indexSnapshotName } from "../src/index-snapshot.ts";
import { RoomIndex } from "../src/room-index.ts";
import { MemoryUpdateStore } from "./memory-update-store.ts";
import { startRelay } from "./relay-fixture.ts";
import { firstBytesOf, replay, Writer } from "./writer.ts";

test("[RL31] an index comes back from its snapshot as it was", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.constantFrom(1, 300, 2 ** 32 - 1), { minLength: 1, maxLength: 5 }), { maxLength: 30 }),
      (log) => {
        const index = new RoomIndex();
        log.forEach((clients, position) => {
          const structs = clients.map((client, at) => {
            const before = clients.slice(0, at).filter((other) => other === client).length;
            const empty = new Uint8Array();
            return { client, clock: index.held(client) + before, origin: null, record: empty, encoded: empty };
          });
          index.add(3 * position + 1, structs);
        });
        const sizes = log.map((clients, position) => ({ seq: 3 * position + 1, bytes: clients.length }));
        const snapshot = { index, upTo: 3 * log.length, sizes };
        const decoded = decodeIndexSnapshot(encodeIndexSnapshot(snapshot));
        expect(decoded?.upTo).toBe(snapshot.upTo);
        expect(decoded?.sizes).toEqual(sizes);
        expect([...(decoded?.index.entries() ?? [])]).toEqual([...index.entries()]);
      },
    ),
  );
});

test("[RL31] damaged or foreign bytes are no snapshot and never throw", () => {
  const index = new RoomIndex();
  const empty = new Uint8Array();
  index.add(1, [{ client: 300, clock: 0, origin: null, record: empty, encoded: empty }]);
  const bytes = encodeIndexSnapshot({ index, upTo: 1, sizes: [{ seq: 1, bytes: 300 }] });
  for (let length = 0; length < bytes.length; length += 1) {
    expect(decodeIndexSnapshot(bytes.subarray(0, length))).toBeUndefined();
  }
  expect(decodeIndexSnapshot(new Uint8Array([...bytes, 0]))).toBeUndefined();
  expect(decodeIndexSnapshot(new Uint8Array([1, ...bytes.subarray(1)]))).toBeUndefined();
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (input) => void decodeIndexSnapshot(input)));
});

test("[RL31] a room with a snapshot reads only what came after it, and one with a bad snapshot reads the log", async () => {
  const store = new MemoryUpdateStore();
  const writer = new Writer(5);
  const count = 300;
  const first = await startRelay({}, store);
  const source = await first.follower("room");
  for (let i = 0; i < count; i += 1) source.sendUpdate(writer.push([i % 256]));
  await source.acknowledged(5, count);
  await first.relay.close();

  const readAfter: number[] = [];
  store.hooks.beforeRead = async (_log, after) => {
    readAfter.push(after);
  };
  const readRoom = async (): Promise<number[]> => {
    const { relay, raw } = await startRelay({}, store);
    const reader = await raw("room");
    reader.send({ type: "syncStep1", stateVector: new Map() });
    const { update } = await reader.take("syncStep2");
    await relay.close();
    return firstBytesOf(replay([update]));
  };
  const expected = firstBytesOf(writer.doc);
  expect(await readRoom()).toEqual(expected);
  expect(readAfter[0]).toBe(count);

  for (const bad of [
    new Uint8Array([1, 2, 3]),
    encodeIndexSnapshot({ index: new RoomIndex(), upTo: count + 1, sizes: [] }),
  ]) {
    store.derived.set(`room/${indexSnapshotName}`, bad);
    readAfter.length = 0;
    expect(await readRoom()).toEqual(expected);
    expect(readAfter[0]).toBe(0);
  }
});
