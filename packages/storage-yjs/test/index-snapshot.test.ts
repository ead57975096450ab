import { readSimulationSettings, simulationTimeoutMs } from "@coppice/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import type { IndexSnapshotStore } from "../src/index-keeper.ts";
import { RecordCodec } from "../src/record-codec.ts";
import { pureRecordCrypto, type RecordCrypto } from "../src/record-crypto.ts";
import { createRoomKeys, type RoomKeys } from "../src/room-keys.ts";
import { YjsSessionStorage } from "../src/yjs-session-storage.ts";
import { headerText, messageContent, testKey } from "./helpers.ts";
import {
  appendChain,
  createReplica,
  deliver,
  message,
  openReplica,
  pushRaw,
  recordsOf,
  roomKeys,
  sessionId,
} from "./replica.ts";

/** Keeps a snapshot as a device keeps it. */
class TestSnapshotStore implements IndexSnapshotStore {
  readonly minNewRecords = 1;
  snapshot: Uint8Array | undefined;
  writes = 0;

  async read(): Promise<Uint8Array | undefined> {
    return this.snapshot && new Uint8Array(this.snapshot);
  }

  async write(snapshot: Uint8Array): Promise<void> {
    this.snapshot = snapshot;
    this.writes++;
  }
}

/** The port, and how many sealed parts it has opened. */
function countingOpens(): { crypto: RecordCrypto; opens: () => number } {
  let opens = 0;
  const open: RecordCrypto["open"] = (...parts) => {
    opens++;
    return pureRecordCrypto.open(...parts);
  };
  return { crypto: { ...pureRecordCrypto, open }, opens: () => opens };
}

interface OpenOptions {
  readonly indexSnapshot?: IndexSnapshotStore;
  readonly keys?: RoomKeys | undefined;
  readonly crypto?: RecordCrypto;
  readonly sessionId?: string;
}

/** Opens what a log of updates holds, on a doc of its own. Reading alone: nothing is written. */
async function openLog(log: readonly Uint8Array[], options: OpenOptions = {}): Promise<YjsSessionStorage> {
  const doc = new Y.Doc();
  for (const update of log) Y.applyUpdate(doc, update);
  return YjsSessionStorage.open({ doc, sessionId, keys: roomKeys, deviceId: "device-a", synced: true, ...options });
}

/** Opens a log, closes it again, and gives the snapshot that this wrote. */
async function makeSnapshot(log: readonly Uint8Array[], options: OpenOptions = {}): Promise<TestSnapshotStore> {
  const indexSnapshot = new TestSnapshotStore();
  await (await openLog(log, { ...options, indexSnapshot })).close();
  return indexSnapshot;
}

/** All that anybody can see of a session. */
async function observe(storage: YjsSessionStorage): Promise<unknown> {
  const entries = await storage.getEntries();
  const ids = entries.map(({ id }) => id);
  const { parentIds, labels, authors, children, jsons } = {
    parentIds: entries.map(({ parentId }) => parentId),
    labels: await Promise.all(ids.map((id) => storage.getLabel(id))),
    authors: ids.map((id) => storage.getAuthor(id)),
    children: await Promise.all([null, ...ids].map(async (id) => (await storage.getChildren(id)).map((e) => e.id))),
    jsons: await Promise.all(ids.map((id) => storage.getEntryJson(id).catch((error: Error) => error.message))),
  };
  return {
    entries,
    parentIds,
    labels,
    authors,
    children,
    jsons,
    tips: (await storage.getTips()).map(({ id }) => id),
    arrived: await storage.getEntries({ afterEntrySeq: 0 }),
    name: await storage.getSessionName(),
    header: storage.getHeaderJson(),
    leaf: storage.getReplicaLeaf(),
    deviceLeaf: storage.getDeviceLeaf(),
    unreadable: storage.getUnreadable(),
    conflicts: await storage.getConflicts(),
    waiting: storage.getWaiting(),
  };
}

const otherKeys = createRoomKeys("0".repeat(32), testKey(9));
const rareTexts = ["", "\u00e9\u4e16\u{1f600}", "cut \ud83d", "\udc00 rest", " padded "];

type Step = { at: number; pick: number } & (
  | { kind: "append" | "branch" | "move" | "label" | "unlabel" | "rename" | "orphan" | "repeat" }
  | { kind: "sync" | "header" | "garbage" | "copy" | "foreign" | "otherKey" | "plain" | "newer" | "wrongPayload" }
);

const anyStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom("append" as const, "branch" as const, "move" as const) },
    { weight: 3, arbitrary: fc.constantFrom("label" as const, "unlabel" as const, "rename" as const) },
    { weight: 3, arbitrary: fc.constantFrom("orphan" as const, "repeat" as const, "sync" as const) },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        ...(["header", "garbage", "copy", "foreign", "otherKey", "plain", "newer", "wrongPayload"] as const),
      ),
    },
  ),
  at: fc.nat(1),
  pick: fc.nat(),
});

/** Two devices, one of which lets anything into the log. Returns the log as it was at each moment. */
async function writeHistory(steps: readonly Step[], keys: RoomKeys | undefined): Promise<Uint8Array[][]> {
  const first = await createReplica("device-a", { keys });
  const second = await openReplica("device-b", { keys, log: [...first.log] });
  for (const [index, replica] of [first, second].entries()) replica.doc.clientID = index + 1;
  await appendChain(first, "root");
  deliver(first, second);
  const logs: Uint8Array[][] = [];
  const codec = new RecordCodec({ sessionId, keys });
  for (const [number, { kind, at, pick }] of steps.entries()) {
    const [replica, other] = at === 0 ? [first, second] : [second, first];
    const { storage, doc } = replica;
    const ids = (await storage.getEntries()).map((entry) => entry.id);
    const picked = ids[pick % ids.length] ?? null;
    const text = rareTexts[pick % rareTexts.length] ?? "";
    const id = `e${number}${text}`;
    const base = { id, parentId: await storage.getLeafId(), timestamp: `2026-01-02T00:00:00.${pick % 1000}Z` };
    const clock = Y.getState(doc.store, doc.clientID);
    const place = { clientId: doc.clientID, clock };
    if (kind === "append") await storage.appendEntry(message(id, base.parentId));
    if (kind === "branch") await storage.appendEntry(message(id, picked, text));
    if (kind === "orphan") await storage.appendEntry(message(id, `absent${pick % 3}`));
    if (kind === "move") await storage.setLeafId(pick % 4 === 0 ? null : picked);
    if (kind === "label") await storage.appendEntry({ ...base, type: "label", targetId: picked ?? "", label: text });
    if (kind === "unlabel") await storage.appendEntry({ ...base, type: "label", targetId: picked ?? "" });
    if (kind === "rename") await storage.appendEntry({ ...base, type: "session_info", name: text });
    if (kind === "repeat" && picked !== null) await storage.appendEntry(message(picked, null, `${pick % 2}`));
    if (kind === "sync") deliver(replica, other);
    if (kind === "garbage") pushRaw(replica, Uint8Array.of(pick % 3, pick & 0xff, 0, 0, 0, 0, 0, pick & 0x7f, 1));
    if (kind === "copy") pushRaw(replica, new Uint8Array(recordsOf(replica)[pick % recordsOf(replica).length] ?? []));
    if (kind === "foreign") pushRaw(replica, "text", pick);
    if (kind === "otherKey" || kind === "plain") {
      const foreign = new RecordCodec({ sessionId, keys: kind === "plain" ? undefined : otherKeys });
      pushRaw(replica, foreign.prepareRecord(messageContent({ id, n: pick })).placeAt(place));
    }
    if (kind === "newer") pushRaw(replica, Uint8Array.of(200, 0, 0, 0, 0, 0, 0, 0));
    if (kind === "wrongPayload") pushRaw(replica, codec.prepareRecord(messageContent({ id, n: pick })).placeAt(place));
    if (kind === "header") {
      const json = headerText(pick % 3 === 0 ? "another" : sessionId, `2026-01-01T00:00:00.${pick % 100}Z`);
      const content = {
        id: sessionId,
        parentId: null,
        type: "session",
        timestamp: "t",
        deviceId: "device-b",
        n: 2,
        json,
      };
      pushRaw(replica, codec.prepareRecord(content).placeAt(place));
    }
    // A log of its own for each moment, in which the other device's work is part of what arrived.
    logs.push([Y.encodeStateAsUpdate(first.doc), ...(pick % 2 === 0 ? [Y.encodeStateAsUpdate(second.doc)] : [])]);
  }
  await Promise.all([first.storage.close(), second.storage.close()]);
  return logs;
}

/** Long enough for a snapshot to be worth writing. */
async function writeLongLog(keys: RoomKeys | undefined = roomKeys, count = 150): Promise<Uint8Array[]> {
  const replica = await createReplica("device-a", { keys });
  const lines = Array.from({ length: count }, (_, at) =>
    JSON.stringify(message(`e${at}`, at === 0 ? null : `e${at - 1}`)),
  );
  await replica.storage.appendJson(lines);
  await replica.storage.close();
  return replica.log;
}

describe("index snapshot", () => {
  const settings = readSimulationSettings();
  test(
    "[YS50] whatever the log holds, an index loaded from a snapshot of any earlier moment is the one built from the records",
    async () => {
      let covered = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(anyStep, { minLength: 5, maxLength: 30 }),
          fc.nat(),
          fc.boolean(),
          async (steps, moment, isSealed) => {
            const keys = isSealed ? roomKeys : undefined;
            const logs = await writeHistory(steps, keys);
            const last = logs.at(-1) ?? [];
            const snapshot = await makeSnapshot(logs[moment % logs.length] ?? [], { keys });
            const counted = countingOpens();
            const loaded = await openLog(last, { keys, indexSnapshot: snapshot, crypto: counted.crypto });
            const opensWithSnapshot = counted.opens();
            const recounted = countingOpens();
            const rebuilt = await openLog(last, { keys, crypto: recounted.crypto });
            covered += recounted.opens() - opensWithSnapshot;
            expect(await observe(loaded)).toEqual(await observe(rebuilt));
          },
        ),
        settings,
      );
      expect(covered).toBeGreaterThan(0);
    },
    simulationTimeoutMs(settings, 2_000),
  );

  test("[YS51] what the snapshot knows is not opened again, and what is newer is", async () => {
    const log = await writeLongLog();
    const indexSnapshot = await makeSnapshot(log);
    const replica = await openReplica("device-b", { log: [...log] });
    await appendChain(replica, "newer1", "newer2");
    const { crypto, opens } = countingOpens();
    const storage = await openLog(replica.log, { indexSnapshot, crypto });
    // The snapshot's only part, the session's header with its payload, two new headers.
    expect(opens()).toBe(1 + 2 + 2);
    expect(await storage.getEntry("newer2")).toMatchObject({ parentId: "newer1" });
  });

  test("[YS52] a flipped byte, another length, key, session or version gives the index built from the records", async () => {
    for (const keys of [roomKeys, undefined]) {
      const log = await writeLongLog(keys, 5);
      const { snapshot = new Uint8Array(0) } = await makeSnapshot(log, { keys });
      const expected = await observe(await openLog(log, { keys }));
      const damaged = Array.from(snapshot, (byte, at) =>
        Uint8Array.from(snapshot).fill(byte ^ (1 << (at % 8)), at, at + 1),
      );
      const others = [new Uint8Array(0), snapshot.subarray(0, 30), snapshot.subarray(1), Uint8Array.of(...snapshot, 0)];
      for (const other of [...damaged, ...others]) {
        const { crypto, opens } = countingOpens();
        const store = new TestSnapshotStore();
        store.snapshot = other;
        const storage = await openLog(log, { keys, crypto, indexSnapshot: store });
        if (keys !== undefined) expect(opens()).toBeGreaterThan(5);
        expect(await observe(storage)).toEqual(expected);
      }
    }
  });

  test("[YS52] a snapshot of another session or key is not believed", async () => {
    const store = await makeSnapshot(await writeLongLog());
    const empty = await createReplica("device-a", { keys: otherKeys });
    const underOtherKey = await openLog(empty.log, { keys: otherKeys, indexSnapshot: store });
    expect(await underOtherKey.getEntries()).toEqual([]);
    const log = await writeLongLog();
    const elsewhere = await openLog(log, { sessionId: "elsewhere", indexSnapshot: store });
    expect(elsewhere.getUnreadable().damaged).toBe(151);
  });

  test("[YS53] a record whose bytes are not those the snapshot speaks of is opened", async () => {
    const [log, other] = [await writeLongLog(), await writeLongLog()];
    const clientOf = (updates: Uint8Array[]) => Y.decodeUpdate(updates[0] ?? new Uint8Array(0)).structs[0]?.id.client;
    const store = await makeSnapshot(log);
    // The same places with other bytes: sealed again for them.
    const codec = new RecordCodec({ sessionId, keys: roomKeys });
    const doc = new Y.Doc();
    doc.clientID = clientOf(log) ?? 0;
    const header = { id: sessionId, parentId: null, type: "session", timestamp: "t", deviceId: "device-a", n: 1 };
    const array = doc.getArray("entries");
    array.push([
      codec.prepareRecord({ ...header, json: headerText(sessionId) }).placeAt({ clientId: doc.clientID, clock: 0 }),
    ]);
    const content = messageContent({ id: "changed", json: JSON.stringify(message("changed", null)) });
    array.push([codec.prepareRecord(content).placeAt({ clientId: doc.clientID, clock: 1 })]);
    const storage = await openLog([Y.encodeStateAsUpdate(doc)], { indexSnapshot: store });
    expect((await storage.getEntries()).map(({ id }) => id)).toEqual(["changed"]);
    expect(other.length).toBeGreaterThan(0);
  });

  test("[YS54] a session opens, grows and closes when its snapshot can be neither read nor written", async () => {
    const failing: IndexSnapshotStore = {
      minNewRecords: 1,
      read: () => Promise.reject(new Error("no disk")),
      write: () => Promise.reject(new Error("disk full")),
    };
    const replica = await createReplica("device-a", { indexSnapshot: failing });
    await appendChain(replica, "e1", "e2");
    await replica.storage.close();
    expect(await observe(await openLog(replica.log, { indexSnapshot: failing }))).toEqual(
      await observe(await openLog(replica.log)),
    );
  });

  test("[YS54] snapshots are written while the session is open too, one at a time, in slices, and speak of one moment", async () => {
    let writing = 0;
    const written: Uint8Array[] = [];
    let turns = 0;
    const indexSnapshot: IndexSnapshotStore = {
      minNewRecords: 5,
      read: async () => undefined,
      write: async (snapshot) => {
        expect(++writing).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        written.push(snapshot);
        writing--;
      },
    };
    const yieldTurn = async (): Promise<void> => {
      turns++;
      await new Promise((resolve) => setImmediate(resolve));
    };
    const replica = await createReplica("device-a", { indexSnapshot, slices: { sliceMs: 0, yieldTurn } });
    for (let at = 0; at < 200; at++) await appendChain(replica, `e${at}`);
    await replica.storage.close();
    expect(written.length).toBeGreaterThan(1);
    expect(turns).toBeGreaterThan(200);
    for (const snapshot of written) {
      const store = new TestSnapshotStore();
      store.snapshot = snapshot;
      expect(await observe(await openLog(replica.log, { indexSnapshot: store }))).toEqual(
        await observe(await openLog(replica.log)),
      );
    }
  });
});

describe("opening in slices", () => {
  test("[YS55] opening gives way to other work, and what arrives meanwhile is in the index in its place", async () => {
    const log = await writeLongLog();
    const [doc, whole] = [new Y.Doc(), new Y.Doc()];
    for (const update of log) for (const each of [doc, whole]) Y.applyUpdate(each, update);
    const newcomer = await openReplica("device-b", { log: [...log] });
    newcomer.doc.clientID = 1;
    // One that sorts before what is there, one that continues it.
    const early = new Y.Doc();
    early.clientID = 2;
    const codec = new RecordCodec({ sessionId, keys: roomKeys });
    const json = JSON.stringify(message("early", null));
    early
      .getArray("entries")
      .push([codec.prepareRecord(messageContent({ id: "early", json })).placeAt({ clientId: 2, clock: 0 })]);
    await appendChain(newcomer, "late");
    const arriving = [Y.encodeStateAsUpdate(early), newcomer.log.at(-1) ?? new Uint8Array(0)];
    for (const update of arriving) Y.applyUpdate(whole, update);
    let turns = 0;
    const yieldTurn = async (): Promise<void> => {
      turns++;
      const update = arriving.shift();
      if (update !== undefined) Y.applyUpdate(doc, update);
    };
    const common = { sessionId, keys: roomKeys, deviceId: "device-a", synced: true };
    const storage = await YjsSessionStorage.open({ doc, ...common, slices: { sliceMs: 0, yieldTurn } });
    expect(turns).toBeGreaterThan(150);
    const expected = (await observe(await YjsSessionStorage.open({ doc: whole, ...common }))) as object;
    // What arrived meanwhile arrived last.
    expect(await observe(storage)).toEqual({ ...expected, arrived: expect.anything() });
    const arrivedIds = (await storage.getEntries({ afterEntrySeq: 150 })).map(({ id }) => id);
    expect(arrivedIds).toEqual(["early", "late"]);
  });
});
