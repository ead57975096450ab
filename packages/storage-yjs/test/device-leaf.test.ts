import { Session, SessionError } from "@coppice/core";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import { DeviceLeaf } from "../src/device-leaf.ts";
import { EntryNode } from "../src/entry-node.ts";
import { RecordCodec } from "../src/record-codec.ts";
import { messageContent } from "./helpers.ts";
import {
  appendChain,
  connect,
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

/** Device A with entries a1 a2, and device B, attached and synced after that. */
async function twoDevices(): Promise<[Replica, Replica]> {
  const a = await createReplica("device-a");
  await appendChain(a, "a1", "a2");
  const b = await openReplica("device-b", { log: [...a.log] });
  return [a, b];
}

describe("my leaf is mine", () => {
  test("[YS20] an own record whose number was too large for the log counts once the log has grown to it", () => {
    const leaf = new DeviceLeaf("device-a", undefined);
    const nodes: EntryNode[] = [];
    const add = (id: string, rank: number): void => {
      const fields = { id, parentId: null, type: "message", timestamp: "", deviceId: "device-a", rank };
      const rest = { jsonBytes: 0, storedBytes: 0, role: undefined, targetId: undefined, label: undefined };
      const record = { clientId: 1, clock: nodes.length, bytes: new Uint8Array() };
      const node = new EntryNode({ ...fields, ...rest, name: undefined }, record);
      nodes.push(node);
      leaf.addNodes([node], nodes.length);
    };
    const settle = (): string | null =>
      leaf.settle({ nodes, recordCount: nodes.length, isKnown: (id) => nodes.some((node) => node.id === id) });
    // Two records had to give way and come again behind the two that were written after them.
    add("third", 3);
    add("fourth", 4);
    settle();
    add("first", 1);
    expect(settle()).toBe("third");
    add("second", 2);
    expect(settle()).toBe("fourth");
  });

  test("[YS20] another device's appends and moves do not move it, before and after a restart", async () => {
    let [a, b] = await twoDevices();
    await b.storage.setLeafId("a1");
    await appendChain(b, "b1", "b2");
    deliver(b, a);
    expect(await a.storage.getLeafId()).toBe("a2");
    a = await reopenReplica("device-a", a);
    expect(await a.storage.getLeafId()).toBe("a2");
    expect(await b.storage.getLeafId()).toBe("b2");
  });

  test("[YS20] a second replica that appends all the time never changes leaf or context", async () => {
    const [a, b] = await twoDevices();
    const stop = connect(a, b);
    const session = new Session(a.storage);
    for (let round = 0; round < 10; round++) {
      await b.storage.setLeafId(round % 2 === 0 ? "a1" : "a2");
      await b.storage.appendEntry(message(`b${round}`, await b.storage.getLeafId()));
      const id = await session.appendMessage({ role: "user", content: `mine ${round}` });
      await b.storage.appendEntry(message(`c${round}`, id));
      expect(await a.storage.getLeafId()).toBe(id);
    }
    stop();
    const { messages } = await session.buildContext();
    expect(messages.map(({ content }) => content)).toEqual([
      "a1",
      "a2",
      ...Array.from({ length: 10 }, (_, round) => `mine ${round}`),
    ]);
    expect(await logIds(a)).toHaveLength(2 + 10 * 4);
  });

  test("[YS21] moved back to an older entry: there after a restart", async () => {
    let [a] = await twoDevices();
    await a.storage.setLeafId("a1");
    a = await reopenReplica("device-a", a);
    expect(await a.storage.getLeafId()).toBe("a1");
    await a.storage.setLeafId(null);
    a = await reopenReplica("device-a", a);
    expect(await a.storage.getLeafId()).toBeNull();
  });

  test("[YS21] a fresh replica of a known device stands where its own last record left it", async () => {
    const [a, b] = await twoDevices();
    await appendChain(b, "b1");
    await b.storage.setLeafId("a1");
    deliver(b, a);
    await appendChain(a, "a3");
    const fresh = await openReplica("device-b", { log: [...a.log] });
    expect(await fresh.storage.getLeafId()).toBe("a1");
  });

  test("[YS21] own last is the greatest (n, position), not the last in the log", async () => {
    const a = await createReplica("device-a");
    a.doc.clientID = 5;
    await appendChain(a, "a1");
    // Two processes of the device that did not know each other: the one with the small client id wrote more.
    const openAs = async (clientId: number): Promise<Replica> => {
      const replica = await openReplica("device-a", { log: [...a.log] });
      replica.doc.clientID = clientId;
      return replica;
    };
    const [low, high] = [await openAs(1), await openAs(9)];
    await appendChain(low, "low1", "low2");
    await appendChain(high, "high1");
    syncAll(low, high, a);
    expect(await logIds(a)).toEqual(["a1", "low1", "low2", "high1"]);
    expect(await (await reopenReplica("device-a", a)).storage.getLeafId()).toBe("low2");
    await appendChain(high, "high2");
    deliver(high, a);
    // Now both have the same n: the later in the log counts.
    const reopened = await reopenReplica("device-a", a);
    expect(await reopened.storage.getLeafId()).toBe("high2");
    expect(reopened.storage.getDeviceLeaf()).toBe("high2");
  });

  test("[YS21] an own record that is a hidden copy of another device's counts", async () => {
    const [a, b] = [await createReplica("device-a"), await createReplica("device-b")];
    const lines = ["e1", "e2"].map((id, index) => JSON.stringify(message(id, index === 0 ? null : "e1")));
    await a.storage.appendJson(lines);
    await b.storage.appendJson(lines);
    syncAll(a, b);
    await appendChain(a, "a3");
    deliver(a, b);
    for (const [device, replica, leaf] of [
      ["device-a", a, "a3"],
      ["device-b", b, "e2"],
    ] as const) {
      expect(await (await openReplica(device, { log: [...replica.log] })).storage.getLeafId()).toBe(leaf);
    }
  });

  test("[YS22] a new device starts at the last record of all and stays there", async () => {
    const [a] = await twoDevices();
    const ownLeaf = new TestLeafStore();
    let b = await openReplica("device-b", { log: [...a.log], ownLeaf });
    expect(await b.storage.getLeafId()).toBe("a2");
    expect(ownLeaf.leaf).toEqual({ leafId: "a2", ownRecordId: null, sinceRecordId: "a2" });
    await appendChain(a, "a3");
    deliver(a, b);
    expect(await b.storage.getLeafId()).toBe("a2");
    b = await reopenReplica("device-b", b);
    expect(await b.storage.getLeafId()).toBe("a2");
    expect(ownLeaf.writes).toBe(1);
  });

  test("[YS22] offline since Monday with one entry, synced on Friday: a newcomer starts at Friday's work", async () => {
    const [a, b] = await twoDevices();
    [a.doc.clientID, b.doc.clientID] = [1, 2];
    await appendChain(b, "monday");
    await appendChain(a, "tue", "wed", "thu", "thu2", "friday");
    syncAll(a, b);
    expect((await logIds(a)).at(-1)).toBe("monday");
    expect(await (await openReplica("device-c", { log: [...a.log] })).storage.getLeafId()).toBe("friday");
  });

  test("[YS22] a move to an older entry is the last record too, one that leads nowhere is not", async () => {
    const [a] = await twoDevices();
    await a.storage.setLeafId("a1");
    expect(await (await openReplica("device-b", { log: [...a.log] })).storage.getLeafId()).toBe("a1");
    await a.storage.appendEntry({ type: "leaf", id: "x", parentId: "a1", timestamp: "t", targetId: "nowhere" });
    expect(await (await openReplica("device-c", { log: [...a.log] })).storage.getLeafId()).toBe("a1");
  });

  test("[YS22] a record with a number greater than the log is long is last for nobody", async () => {
    const [a] = await twoDevices();
    const codec = new RecordCodec({ sessionId, keys: roomKeys });
    for (const deviceId of ["device-a", "device-z"]) {
      const id = `forged by ${deviceId}`;
      const content = messageContent({ id, deviceId, n: 2 ** 40, json: JSON.stringify(message(id, "a1")) });
      const clock = Y.getState(a.doc.store, a.doc.clientID);
      pushRaw(a, codec.prepareRecord(content).placeAt({ clientId: a.doc.clientID, clock }));
    }
    expect(await logIds(a)).toHaveLength(4);
    expect(await (await openReplica("device-a", { log: [...a.log] })).storage.getLeafId()).toBe("a2");
    expect(await (await openReplica("device-b", { log: [...a.log] })).storage.getLeafId()).toBe("a2");
  });

  test("[YS22] attached while the session is empty: what arrives first decides, once", async () => {
    const a = await createReplica("device-a");
    const b = await openReplica("device-b", { log: [...a.log] });
    expect(await b.storage.getLeafId()).toBeNull();
    await appendChain(a, "a1");
    deliver(a, b);
    expect(await b.storage.getLeafId()).toBe("a1");
    await appendChain(a, "a2");
    deliver(a, b);
    expect(await b.storage.getLeafId()).toBe("a1");
  });

  test("[YS22] the device that created the session is not new", async () => {
    let a = await createReplica("device-a");
    const b = await openReplica("device-b", { log: [...a.log] });
    await b.storage.appendEntry(message("b1", null));
    deliver(b, a);
    expect(await a.storage.getLeafId()).toBeNull();
    a = await reopenReplica("device-a", a);
    expect(await a.storage.getLeafId()).toBeNull();
  });

  test("[YS22] close tells when the leaf of a new device could not be stored", async () => {
    const [a] = await twoDevices();
    const ownLeaf = new TestLeafStore();
    ownLeaf.write = () => Promise.reject(new SessionError("storage_full", "the disk is full"));
    const b = await openReplica("device-b", { log: [...a.log], ownLeaf });
    expect(await b.storage.getLeafId()).toBe("a2");
    await expect(b.storage.close()).rejects.toMatchObject({ code: "storage_full" });
  });

  test("[YS23] the stored leaf counts while the device has written nothing since", async () => {
    const [a] = await twoDevices();
    const ownLeaf = new TestLeafStore();
    ownLeaf.leaf = { leafId: "a1", ownRecordId: "a2" };
    const asStored = await openReplica("device-a", { log: [...a.log], ownLeaf });
    expect(await asStored.storage.getLeafId()).toBe("a1");
    expect(asStored.storage.getDeviceLeaf()).toBe("a1");
  });

  test("[YS23] killed between an entry and the leaf, the entry counts; a stored leaf that is gone does not", async () => {
    const [a] = await twoDevices();
    const ownLeaf = new TestLeafStore();
    ownLeaf.leaf = { leafId: "a1", ownRecordId: "a1" };
    expect(await (await openReplica("device-a", { log: [...a.log], ownLeaf })).storage.getLeafId()).toBe("a2");
    ownLeaf.leaf = { leafId: "lost", ownRecordId: "a2" };
    expect(await (await openReplica("device-a", { log: [...a.log], ownLeaf })).storage.getLeafId()).toBe("a2");
  });
});

describe("several processes, recovered logs", () => {
  test("[YS24] own records of another process move an open that has not written, and no other", async () => {
    const [first] = await twoDevices();
    const second = await openReplica("device-a", { log: [...first.log] });
    [first.doc.clientID, second.doc.clientID] = [2, 1];
    await appendChain(first, "p1");
    deliver(first, second);
    expect(await second.storage.getLeafId()).toBe("p1");
    await second.storage.setLeafId("a1");
    await appendChain(first, "p2");
    deliver(first, second);
    expect(await second.storage.getLeafId()).toBe("a1");
    expect(second.storage.getReplicaLeaf()).toBe("a1");
    expect(second.storage.getDeviceLeaf()).toBe("p2");
    deliver(second, first);
    expect(await first.storage.getLeafId()).toBe("p2");
  });

  test("[YS24] the device's leaf is where its last record left it, whichever process wrote that", async () => {
    const [first] = await twoDevices();
    const second = await openReplica("device-a", { log: [...first.log] });
    const stop = connect(first, second);
    await appendChain(first, "p1");
    await second.storage.setLeafId("a1");
    for (const { storage } of [first, second]) expect(storage.getDeviceLeaf()).toBe("a1");
    await appendChain(first, "p2");
    for (const { storage } of [first, second]) expect(storage.getDeviceLeaf()).toBe("p2");
    stop();
    expect([first, second].map(({ storage }) => storage.getReplicaLeaf())).toEqual(["p2", "a1"]);
  });

  test("[YS24] two processes that wrote at once agree on the device's leaf", async () => {
    const [first] = await twoDevices();
    const second = await openReplica("device-a", { log: [...first.log] });
    [first.doc.clientID, second.doc.clientID] = [1, 2];
    await appendChain(first, "p1");
    await appendChain(second, "q1");
    syncAll(first, second);
    for (const { storage } of [first, second]) expect(storage.getDeviceLeaf()).toBe("q1");
  });

  test("[YS24] two storages on one doc do not move each other", async () => {
    const [first] = await twoDevices();
    const second = await openReplica("device-b", { doc: first.doc });
    await appendChain(first, "a3");
    expect(await second.storage.getLeafId()).toBe("a2");
    expect(await logIds(second)).toEqual(["a1", "a2", "a3"]);
  });

  test("[YS24] a log that comes back from the relay after it was lost here restores the leaf", async () => {
    const [a] = await twoDevices();
    await a.storage.setLeafId("a1");
    const empty = await openReplica("device-a", { synced: false });
    deliver(a, empty);
    empty.storage.markSynced();
    expect(await empty.storage.getLeafId()).toBe("a1");
  });
});

describe("an attached replica that never completed a sync", () => {
  test("[YS25] has no leaf and refuses to write, also when part of the log is there", async () => {
    const [a] = await twoDevices();
    const b = await openReplica("device-b", { synced: false });
    Y.applyUpdate(b.doc, a.log[0] as Uint8Array, "remote");
    Y.applyUpdate(b.doc, a.log[1] as Uint8Array, "remote");
    const before = Y.encodeStateAsUpdate(b.doc);
    expect(await logIds(b)).toEqual(["a1"]);
    expect(b.storage.getReplicaLeaf()).toBeNull();
    expect(b.storage.getDeviceLeaf()).toBeNull();
    for (const call of [
      b.storage.getLeafId(),
      b.storage.setLeafId("a1"),
      b.storage.appendEntry(message("b1", null)),
      b.storage.appendJson([JSON.stringify(message("b1", null))]),
    ]) {
      await expect(call).rejects.toMatchObject({ code: "not_synced" });
    }
    expect(Y.encodeStateAsUpdate(b.doc)).toEqual(before);
    expect(b.ownLeaf.writes).toBe(0);
  });

  test("[YS25] gets its leaf with its first complete sync, and no second root arises", async () => {
    const [a] = await twoDevices();
    const b = await openReplica("device-b", { synced: false });
    deliver(a, b);
    b.storage.markSynced();
    b.storage.markSynced();
    await appendChain(b, "b1");
    deliver(b, a);
    expect((await a.storage.getChildren(null)).map(({ id }) => id)).toEqual(["a1"]);
    expect(b.ownLeaf.writes).toBe(1);
  });

  test("[YS25] synced with nothing but the header missing, it still refuses to write", async () => {
    const b = await openReplica("device-b");
    await expect(b.storage.appendEntry(message("b1", null))).rejects.toMatchObject({ code: "not_synced" });
    await expect(b.storage.getMetadata()).rejects.toMatchObject({ code: "not_synced" });
  });
});

describe("looking elsewhere", () => {
  test("[CU8] the view and the place are two things: records of this device's other process move the place alone", async () => {
    const [first] = await twoDevices();
    const second = await openReplica("device-a", { log: [...first.log] });
    expect(second.storage.lookAt("nowhere")).toBe(false);
    expect(second.storage.lookAt("a1")).toBe(true);
    await appendChain(first, "p1");
    deliver(first, second);
    expect(await second.storage.getLeafId()).toBe("a1");
    expect(second.storage.getPlace()).toBe("p1");
    second.storage.lookBack();
    expect(await second.storage.getLeafId()).toBe("p1");
    expect(await logIds(second)).toEqual(["a1", "a2", "p1"]);
  });

  test("[CU8] the first append or move makes what one looks at the own place", async () => {
    for (const write of [
      async (b: Replica) => appendChain(b, "b1"),
      async (b: Replica) => b.storage.setLeafId(await b.storage.getLeafId()),
    ]) {
      const [, b] = await twoDevices();
      b.storage.lookAt("a1");
      const writesBefore = b.storage.ownWriteCount;
      await write(b);
      expect(b.storage.ownWriteCount).toBe(writesBefore + 1);
      const leafId = await b.storage.getLeafId();
      b.storage.lookBack();
      expect(await b.storage.getLeafId()).toBe(leafId);
      expect([b.storage.getPlace(), b.storage.getDeviceLeaf()]).toEqual([leafId, leafId]);
    }
  });

  test("[CU10] a replica that holds its leaf for an agent is moved by no other process of the device", async () => {
    const [first] = await twoDevices();
    const second = await openReplica("device-a", { log: [...first.log] });
    second.storage.lookAt("a1");
    second.storage.holdLeaf();
    await appendChain(first, "p1");
    deliver(first, second);
    expect(await second.storage.getLeafId()).toBe("a1");
    expect(second.storage.getDeviceLeaf()).toBe("p1");
  });

  test("[CU8] a replica without a leaf looks nowhere", async () => {
    const [a] = await twoDevices();
    const b = await openReplica("device-b", { log: [...a.log], synced: false });
    expect(b.storage.lookAt("a1")).toBe(false);
    expect(b.storage.getPlace()).toBeNull();
  });

  test("[YS97] a place taken without a record holds across a reopen, until the device's next record", async () => {
    const a = await createReplica("device-a");
    await appendChain(a, "a1", "a2", "a3");
    await a.storage.standAt("a1");
    expect(await a.storage.getLeafId()).toBe("a1");
    const again = await reopenReplica("device-a", a);
    expect(await again.storage.getLeafId()).toBe("a1");
    expect(await logIds(again)).toEqual(["a1", "a2", "a3"]);
    await appendChain(again, "a4");
    expect((await again.storage.getEntry("a4"))?.parentId).toBe("a1");
    expect(await (await reopenReplica("device-a", again)).storage.getLeafId()).toBe("a4");
    await expect(again.storage.standAt("nowhere")).rejects.toThrow("not found");
  });
});
