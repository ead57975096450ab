import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import { RecordCodec } from "../src/record-codec.ts";
import { messageContent } from "./helpers.ts";
import {
  appendChain,
  createReplica,
  deliver,
  logIds,
  message,
  openReplica,
  pushRaw,
  type Replica,
  reopenReplica,
  roomKeys,
  sessionId,
  syncAll,
  TestLeafStore,
} from "./replica.ts";

/** Device A, which made the session, with a1 and a2. */
async function openFirst(): Promise<Replica> {
  const a = await createReplica("device-a");
  await appendChain(a, "a1", "a2");
  return a;
}

/** The leaf a replica of this device gets when it opens what `replica` has. */
async function leafOf(deviceId: string, replica: Replica, ownLeaf = new TestLeafStore()): Promise<string | null> {
  return (await openReplica(deviceId, { log: [...replica.log], ownLeaf })).storage.getLeafId();
}

/** Puts a message with a number of its writer's choice at the end of the log. */
function pushNumbered(replica: Replica, deviceId: string, id: string, n: number): void {
  const codec = new RecordCodec({ sessionId, keys: roomKeys });
  const content = messageContent({ id, parentId: "a1", deviceId, n, json: JSON.stringify(message(id, "a1")) });
  const { clientID } = replica.doc;
  const place = { clientId: clientID, clock: Y.getState(replica.doc.store, clientID) };
  pushRaw(replica, codec.prepareRecord(content).placeAt(place));
}

describe("the table Leaf", () => {
  test.each(["a1", null])("[YS80] moved back to %s and restarted alone: it stays back", async (target) => {
    const a = await openFirst();
    await a.storage.setLeafId(target);
    const again = await reopenReplica("device-a", a);
    expect(await again.storage.getLeafId()).toBe(target);
    expect(again.storage.getDeviceLeaf()).toBe(target);
  });

  test("[YS81] offline since Monday with one entry, synced on Friday after five by others: a newcomer starts at Friday's work", async () => {
    const a = await openFirst();
    const b = await openReplica("device-b", { log: [...a.log] });
    // The order of concurrent records in the log depends on client ids; the newcomer's place must not.
    for (const [clientA, clientB] of [
      [1, 2],
      [2, 1],
    ] as const) {
      const [monday, friday] = [
        await openReplica("device-b", { log: [...b.log] }),
        await openReplica("device-a", { log: [...a.log] }),
      ];
      [friday.doc.clientID, monday.doc.clientID] = [clientA, clientB];
      await appendChain(monday, "monday");
      await appendChain(friday, "tue", "wed", "thu", "fri", "friday");
      syncAll(friday, monday);
      expect(await leafOf("device-c", friday)).toBe("friday");
      expect(await leafOf("device-b", friday)).toBe("monday");
    }
  });

  test("[YS82] killed between the commit of an entry and that of the leaf value: the entry counts", async () => {
    const a = await openFirst();
    for (const leaf of [undefined, { leafId: "a1", ownRecordId: "a1" }, { leafId: "a1", ownRecordId: null }]) {
      const ownLeaf = new TestLeafStore();
      ownLeaf.leaf = leaf;
      expect(await leafOf("device-a", a, ownLeaf)).toBe("a2");
    }
  });

  test("[YS82] a new device killed before its first leaf was stored decides again, by what is there then", async () => {
    const a = await openFirst();
    const lost = new TestLeafStore();
    lost.write = () => new Promise(() => undefined);
    expect(await leafOf("device-b", a, lost)).toBe("a2");
    await appendChain(a, "a3");
    expect(await leafOf("device-b", a)).toBe("a3");
  });

  test("[YS83] attached before the first sync: not_synced across restarts and parts of the log, and no second root", async () => {
    const a = await openFirst();
    let b = await openReplica("device-b", { synced: false });
    for (const update of a.log) {
      Y.applyUpdate(b.doc, update, "remote");
      await expect(b.storage.appendEntry(message("b0", null))).rejects.toMatchObject({ code: "not_synced" });
      await expect(b.storage.setLeafId(null)).rejects.toMatchObject({ code: "not_synced" });
      await b.storage.close();
      b = await openReplica("device-b", { log: [...b.log], ownLeaf: b.ownLeaf, synced: false });
      expect(b.storage.getReplicaLeaf()).toBeNull();
    }
    b.storage.markSynced();
    await appendChain(b, "b1");
    deliver(b, a);
    expect((await a.storage.getChildren(null)).map(({ id }) => id)).toEqual(["a1"]);
    expect((await a.storage.getEntry("b1"))?.parentId).toBe("a2");
  });

  test("[YS84] own newer records that arrive before this open has written: the leaf is computed again", async () => {
    const a = await openFirst();
    const early = await openReplica("device-a", { log: a.log.slice(0, 2) });
    expect(await early.storage.getLeafId()).toBe("a1");
    deliver(a, early);
    expect(await early.storage.getLeafId()).toBe("a2");
    await a.storage.setLeafId(null);
    deliver(a, early);
    expect(await early.storage.getLeafId()).toBeNull();
  });

  test("[YS85] own newer records that arrive after this open has written: its leaf stays", async () => {
    const a = await openFirst();
    const early = await openReplica("device-a", { log: a.log.slice(0, 2) });
    await appendChain(early, "early");
    deliver(a, early);
    expect(await early.storage.getLeafId()).toBe("early");
    await a.storage.setLeafId("a1");
    deliver(a, early);
    expect(await early.storage.getLeafId()).toBe("early");
  });

  test.each([
    ["an entry: its id", undefined, "b1"],
    ["a move: its target", "a1", "a1"],
    ["a move to before the first entry: null", null, null],
  ])(
    "[YS86] a fresh replica of a known device takes the effect of its own last record, %s",
    async (_case, move, leaf) => {
      const a = await openFirst();
      const b = await openReplica("device-b", { log: [...a.log] });
      await appendChain(b, "b1");
      if (move !== undefined) await b.storage.setLeafId(move);
      deliver(b, a);
      await appendChain(a, "a3", "a4");
      expect(await leafOf("device-b", a)).toBe(leaf);
    },
  );

  test.each([
    ["an entry: its id", undefined, "a2"],
    ["a move: its target", "a1", "a1"],
    ["a move to before the first entry: null", null, null],
  ])("[YS87] a new device takes the effect of the last record at all, %s", async (_case, move, leaf) => {
    const a = await openFirst();
    if (move !== undefined) await a.storage.setLeafId(move);
    expect(await leafOf("device-c", a)).toBe(leaf);
  });

  test("[YS88] a forged n, larger than the number of records, ranks as 0 for the device it names and for all others", async () => {
    const a = await openFirst();
    pushNumbered(a, "device-a", "forged", 1_000);
    pushNumbered(a, "device-z", "forged too", Number.MAX_SAFE_INTEGER);
    expect(await logIds(a)).toEqual(["a1", "a2", "forged", "forged too"]);
    expect(await leafOf("device-a", a)).toBe("a2");
    expect(await leafOf("device-c", a)).toBe("a2");
    const again = await reopenReplica("device-a", a);
    await appendChain(again, "a3");
    expect(await leafOf("device-c", again)).toBe("a3");
  });

  test("[YS89] two processes of one device: each reads its leaf at open and moves only its own, the last written is durable", async () => {
    const first = await openFirst();
    await first.storage.setLeafId("a1");
    const second = await openReplica("device-a", { log: [...first.log] });
    expect(await second.storage.getLeafId()).toBe("a1");
    await appendChain(first, "p1");
    await appendChain(second, "q1", "q2");
    syncAll(first, second);
    expect([await first.storage.getLeafId(), await second.storage.getLeafId()]).toEqual(["p1", "q2"]);
    expect(await leafOf("device-a", first)).toBe("q2");
    await appendChain(first, "p2");
    deliver(first, second);
    expect(await second.storage.getLeafId()).toBe("q2");
    expect(await leafOf("device-a", second)).toBe("p2");
  });

  test("[YS90] a stored leaf that names an unknown entry: the rows below it decide", async () => {
    const a = await openFirst();
    const ownLeaf = new TestLeafStore();
    ownLeaf.leaf = { leafId: "lost", ownRecordId: "a2" };
    expect(await leafOf("device-a", a, ownLeaf)).toBe("a2");
    ownLeaf.leaf = { leafId: "lost", ownRecordId: null };
    expect(await leafOf("device-c", a, ownLeaf)).toBe("a2");
    expect(ownLeaf.leaf).toMatchObject({ leafId: "a2", ownRecordId: null });
  });

  test("[YS91] a leaf record of another that points nowhere is passed over", async () => {
    const a = await openFirst();
    await a.storage.appendEntry({ type: "leaf", id: "x", parentId: "a2", timestamp: "t", targetId: "nowhere" });
    expect(await leafOf("device-c", a)).toBe("a2");
  });

  test("[YS91] an own one refuses with invalid_session until its target arrives or the device moves", async () => {
    const a = await openFirst();
    const b = await openReplica("device-b", { log: [...a.log] });
    await appendChain(b, "b1");
    await a.storage.appendEntry({ type: "leaf", id: "x", parentId: "a2", timestamp: "t", targetId: "b1" });
    const again = await reopenReplica("device-a", a);
    await expect(again.storage.getLeafId()).rejects.toMatchObject({ code: "invalid_session" });
    deliver(b, again);
    expect(await again.storage.getLeafId()).toBe("b1");
    await again.storage.appendEntry({ type: "leaf", id: "y", parentId: "b1", timestamp: "t", targetId: "nowhere" });
    await again.storage.setLeafId("a1");
    expect(await leafOf("device-a", again)).toBe("a1");
  });

  test("[YS92] last is the greatest n, wherever it stands in the log, and among equals the one furthest down", async () => {
    const a = await openFirst();
    const [low, high] = [
      await openReplica("device-a", { log: [...a.log] }),
      await openReplica("device-a", { log: [...a.log] }),
    ];
    [low.doc.clientID, high.doc.clientID] = [1, 2];
    await appendChain(low, "low1", "low2");
    await appendChain(high, "high1");
    syncAll(low, high);
    expect(await logIds(low)).toEqual(["a1", "a2", "low1", "low2", "high1"]);
    for (const deviceId of ["device-a", "device-c"]) expect(await leafOf(deviceId, low)).toBe("low2");
    const higher = await openReplica("device-a", { log: [...a.log] });
    higher.doc.clientID = 3;
    await appendChain(higher, "higher1", "higher2");
    deliver(higher, low);
    expect((await logIds(low)).slice(-2)).toEqual(["higher1", "higher2"]);
    for (const deviceId of ["device-a", "device-c"]) expect(await leafOf(deviceId, low)).toBe("higher2");
  });

  test("[YS96] a device that takes a new id keeps its place, and the old id moves it no more", async () => {
    const a = await openFirst();
    await a.storage.setLeafId("a1");
    const twin = await openReplica("device-a", { log: [...a.log] });
    a.storage.takeDeviceId("device-b");
    expect(await a.storage.getLeafId()).toBe("a1");
    expect(a.ownLeaf.leaf).toMatchObject({ leafId: "a1", ownRecordId: null, deviceId: "device-b" });
    await appendChain(twin, "t1");
    deliver(twin, a);
    expect([await a.storage.getLeafId(), a.storage.getDeviceLeaf()]).toEqual(["a1", "a1"]);
    const formerDeviceIds = ["device-a"];
    const again = await openReplica("device-b", { log: [...a.log], ownLeaf: a.ownLeaf, formerDeviceIds });
    expect(await again.storage.getLeafId()).toBe("a1");
    await appendChain(again, "b1");
    expect(again.storage.getAuthor("b1")).toBe("device-b");
    const last = await openReplica("device-b", { log: [...again.log], ownLeaf: a.ownLeaf, formerDeviceIds });
    expect(await last.storage.getLeafId()).toBe("b1");
  });

  test("[YS96] in a session that was not open then, the place is where the old id stands when it is opened first", async () => {
    const a = await openFirst();
    await a.storage.setLeafId("a1");
    const formerDeviceIds = ["device-z", "device-a"];
    for (const leaf of [undefined, { leafId: "a2", ownRecordId: null }]) {
      const ownLeaf = new TestLeafStore();
      ownLeaf.leaf = leaf;
      const b = await openReplica("device-b", { log: [...a.log], ownLeaf, formerDeviceIds });
      expect(await b.storage.getLeafId()).toBe("a1");
      await appendChain(a, "a3");
      deliver(a, b);
      expect(await b.storage.getLeafId()).toBe("a1");
      const again = await openReplica("device-b", { log: [...b.log], ownLeaf, formerDeviceIds });
      expect(await again.storage.getLeafId()).toBe("a1");
      await a.storage.setLeafId("a1");
    }
  });

  test("[YS96] what the old id had stored counts for the new one, while it is as new as the log", async () => {
    const a = await openFirst();
    const ownLeaf = new TestLeafStore();
    ownLeaf.leaf = { leafId: "a1", ownRecordId: null };
    const c = await openReplica("device-d", { log: [...a.log], ownLeaf, formerDeviceIds: ["device-c"] });
    expect(await c.storage.getLeafId()).toBe("a1");
  });

  test("[YS96] a creator that takes a new id before its first entry still stands before it", async () => {
    const a = await createReplica("device-a");
    a.storage.takeDeviceId("device-b");
    const c = await openReplica("device-c", { log: [...a.log] });
    await c.storage.appendEntry(message("c1", null));
    deliver(c, a);
    expect(await a.storage.getLeafId()).toBeNull();
    const again = await openReplica("device-b", { log: [...a.log], formerDeviceIds: ["device-a"] });
    expect(await again.storage.getLeafId()).toBeNull();
  });
});
