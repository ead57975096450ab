import type { SessionChange } from "@coppice/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Cursor } from "../src/cursor.ts";
import { createCursorContext, decodeCursor, encodeCursor } from "../src/cursor.ts";
import { CursorBoard } from "../src/cursor-board.ts";
import { createRoomKeys, type RoomKeys } from "../src/room-keys.ts";
import { testKey } from "./helpers.ts";
import {
  appendChain,
  createReplica,
  deliver,
  logIds,
  openReplica,
  type Replica,
  recordsOf,
  roomKeys,
  sessionId,
  syncAll,
} from "./replica.ts";

const makeKeys = (seed: number): RoomKeys => createRoomKeys(roomKeys.roomId, testKey(seed));
const [second, third] = [makeKeys(2), makeKeys(3)];

/** Ids of the keys that sealed the records, in log order. */
function keyIdsOf(replica: Replica): string[] {
  return recordsOf(replica).map((record) => Buffer.from(record.subarray(2, 6)).toString("hex"));
}

const idOf = ({ keyId }: RoomKeys): string => Buffer.from(keyId).toString("hex");

describe("a room that gets another key", () => {
  it("[RC30] the newest key seals what is written from then on, and all of it is read", async () => {
    const laptop = await createReplica("laptop");
    await appendChain(laptop, "a");
    laptop.storage.takeKeys([second, roomKeys]);
    await appendChain(laptop, "b");
    laptop.storage.takeKeys([third, second, roomKeys]);
    await appendChain(laptop, "c");
    expect(keyIdsOf(laptop)).toEqual([roomKeys, roomKeys, second, third].map(idOf));
    expect(await logIds(laptop)).toEqual(["a", "b", "c"]);
    const again = await openReplica("phone", { log: laptop.log, keys: third, olderKeys: [second, roomKeys] });
    expect(await logIds(again)).toEqual(["a", "b", "c"]);
    expect(again.storage.getUnreadable().damaged).toBe(0);
  });

  it("[RC30] who has not heard of a key goes on with the old one, and what the new one sealed is shown when it comes", async () => {
    const [laptop, phone] = [await createReplica("laptop"), await openReplica("phone")];
    await appendChain(laptop, "a");
    deliver(laptop, phone);
    laptop.storage.takeKeys([second, roomKeys]);
    await appendChain(laptop, "b", "c");
    await appendChain(phone, "p");
    syncAll(laptop, phone);
    expect(await logIds(laptop)).toEqual(expect.arrayContaining(["a", "b", "c", "p"]));
    expect(await logIds(phone)).toEqual(["a", "p"]);
    expect(phone.storage.getUnreadable().byProblem).toEqual({ other_key: 2 });
    await phone.storage.appendEntry({
      type: "label",
      id: "l",
      parentId: "p",
      timestamp: "2026-01-02T00:00:00.000Z",
      targetId: "a",
      label: "mine",
    });
    const changes: SessionChange[] = [];
    phone.storage.subscribe((change) => void changes.push(change));
    phone.storage.takeKeys([second, roomKeys]);
    await phone.storage.setLeafId("p");
    expect(changes.flatMap(({ added }) => added.map(({ id }) => id)).slice(0, 2)).toEqual(["b", "c"]);
    expect(phone.storage.getReplicaLeaf()).toBe("p");
    syncAll(laptop, phone);
    expect(await logIds(phone)).toEqual(await logIds(laptop));
    expect(phone.storage.getUnreadable().damaged).toBe(0);
  });

  it("[RC30] a session whose header only the new key opens can be used once the key is there", async () => {
    const laptop = await createReplica("laptop", { keys: second, olderKeys: [roomKeys] });
    await appendChain(laptop, "a");
    const phone = await openReplica("phone", { log: laptop.log });
    await expect(phone.storage.getMetadata()).rejects.toMatchObject({ code: "invalid_session" });
    phone.storage.takeKeys([second, roomKeys]);
    expect((await phone.storage.getMetadata()).id).toBe(sessionId);
    expect(await phone.storage.getLeafId()).toBe("a");
  });

  it("[RC30] the index snapshot of before is of use after the rotation", async () => {
    let kept: Uint8Array | undefined;
    const indexSnapshot = {
      read: async () => kept,
      write: async (snapshot: Uint8Array) => {
        kept = snapshot;
      },
      minNewRecords: 1,
    };
    const laptop = await createReplica("laptop", { indexSnapshot });
    await appendChain(laptop, "a", "b");
    await laptop.storage.close();
    const before = kept;
    const again = await openReplica("laptop", {
      log: laptop.log,
      keys: second,
      olderKeys: [roomKeys],
      indexSnapshot: { ...indexSnapshot, minNewRecords: 3 },
    });
    await appendChain(again, "c");
    await again.storage.close();
    // Fewer than three records had to be opened: had the snapshot not been read, all four had.
    expect(kept === before).toBe(true);
  });

  it("[RC30] an unsealed room stays one, and a closed session takes no key", async () => {
    const plain = await createReplica("laptop", { keys: undefined });
    plain.storage.takeKeys([second]);
    await appendChain(plain, "a");
    expect(keyIdsOf(plain)).toEqual(["00000000", "00000000"]);
    await plain.storage.close();
    expect(() => plain.storage.takeKeys([second])).toThrow(expect.objectContaining({ code: "closed" }));
  });

  it("[RC30] wherever keys change hands, everybody reads everything in the end and in the same order", async () => {
    const step = fc.record({
      who: fc.nat({ max: 2 }),
      what: fc.constantFrom("append", "append", "hear", "send"),
      from: fc.nat({ max: 2 }),
    });
    const allKeys = [third, second, roomKeys];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
        const replicas = [await createReplica("d0"), await openReplica("d1"), await openReplica("d2")];
        syncAll(...replicas);
        const known = [1, 1, 1];
        let written = 0;
        for (const { who, what, from } of steps) {
          const [replica, other] = [replicas[who], replicas[from]];
          if (replica === undefined || other === undefined) continue;
          if (what === "append") await appendChain(replica, `e${written++}`);
          if (what === "send") deliver(other, replica);
          if (what === "hear") {
            known[who] = Math.min(3, (known[who] ?? 1) + 1);
            replica.storage.takeKeys(allKeys.slice(-known[who]));
          }
        }
        syncAll(...replicas);
        for (const { storage } of replicas) storage.takeKeys(allKeys);
        const [ids, ...others] = await Promise.all(replicas.map(logIds));
        expect(new Set(ids).size).toBe(written);
        for (const other of others) expect(other).toEqual(ids);
      }),
      { numRuns: 40 },
    );
  });
});

describe("cursors in a room that gets another key", () => {
  const cursor: Cursor = { device: "laptop", replica: "r1", leafId: "a" };
  const old = createCursorContext({ sessionId, keys: roomKeys });
  const rotated = createCursorContext({ sessionId, keys: second, olderKeys: [roomKeys] });

  it("[RC30] are sealed with the newest key and open with any", () => {
    expect(decodeCursor(encodeCursor(cursor, 1, 7, old), 7, rotated)).toEqual({ cursor, counter: 1 });
    expect(decodeCursor(encodeCursor(cursor, 1, 7, rotated), 7, rotated)).toEqual({ cursor, counter: 1 });
    expect(decodeCursor(encodeCursor(cursor, 1, 7, rotated), 7, old)).toBeUndefined();
  });

  it("[RC30] are shown once the key has come and they show themselves again", () => {
    const board = new CursorBoard(old);
    const states = new Map([[7, encodeCursor(cursor, 1, 7, rotated)]]);
    expect(board.take([7], states).useless).toEqual([7]);
    board.takeContext(rotated);
    expect(board.take([7], states)).toEqual({ isChanged: true, useless: [] });
    expect(board.cursors()).toEqual([cursor]);
  });
});
