import { readIndex, readSimulationSettings, simulationTimeoutMs } from "@coppice/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import { RecordCodec } from "../src/record-codec.ts";
import { deriveRoomKeys } from "../src/room-keys.ts";
import { cutRecord, flipBit, openTampered, PREFIX_BYTES, writeAs } from "./forgery.ts";
import { headerText, messageContent, testKey } from "./helpers.ts";
import {
  appendChain,
  createReplica,
  deliver,
  logIds,
  message,
  openReplica,
  type Replica,
  recordsOf,
  roomKeys,
  sessionId,
  syncAll,
} from "./replica.ts";

const otherKeys = deriveRoomKeys(testKey(9), sessionId);

/** Position in the log of the record that is tampered with: the header is first, then e1, e2, e3. */
const TAMPERED = 2;

/** Exactly e2 is unreadable, by its header or by its payload alone; all else is as it was, and appends go on. */
async function expectOnlySecondUnreadable(replica: Replica): Promise<"header" | "payload"> {
  const { storage } = replica;
  const { damaged, newer, foreign } = storage.getUnreadable();
  const ids = await logIds(replica);
  const isHeader = !ids.includes("e2");
  expect({ ids, count: damaged + newer, foreign }).toEqual(
    isHeader ? { ids: ["e1", "e3"], count: 1, foreign: 0 } : { ids: ["e1", "e2", "e3"], count: 0, foreign: 0 },
  );
  expect(storage.getWaiting()).toEqual(isHeader ? ["e3"] : []);
  if (!isHeader) expect(await storage.getEntry("e2")).toMatchObject({ type: "unreadable", recordType: "message" });
  for (const [id, parentId] of [
    ["e1", null],
    ["e3", "e2"],
  ] as const) {
    expect(await storage.getEntryJson(id)).toBe(JSON.stringify(message(id, parentId)));
  }
  expect(await storage.getConflicts()).toEqual([]);
  expect(await storage.getLeafId()).toBe("e3");
  await appendChain(replica, "e4");
  expect(await logIds(replica)).toEqual([...ids, "e4"]);
  return isHeader ? "header" : "payload";
}

async function createSource(secondText = "e2"): Promise<Replica> {
  const source = await createReplica("device-a");
  await appendChain(source, "e1");
  await source.storage.appendEntry(message("e2", "e1", secondText));
  await appendChain(source, "e3");
  return source;
}

describe("a record that was tampered with", () => {
  test("[YS122] any flipped byte of a short record makes that record unreadable and nothing else", async () => {
    const source = await createSource();
    const record = recordsOf(source)[TAMPERED] as Uint8Array;
    const found = { header: 0, payload: 0 };
    for (let at = 0; at < record.length; at++) {
      // Version, flags, key and dictionary are read before anything is opened: every bit of them.
      for (const bit of at < PREFIX_BYTES ? [0, 1, 2, 3, 4, 5, 6, 7] : [at % 8]) {
        const tampered = await openTampered(source, TAMPERED, (bytes) => flipBit(bytes, at, bit));
        found[await expectOnlySecondUnreadable(tampered)]++;
        await tampered.storage.close();
      }
    }
    const { head, payload } = cutRecord(record);
    // A length that changes ends the header elsewhere, so the header does not open either.
    expect(found).toEqual({ header: head.length + 7 * PREFIX_BYTES, payload: payload.length });
  });

  test("[YS122] so does a flipped bit anywhere in a long record", async () => {
    const source = await createSource(Array.from({ length: 20_000 }, (_, index) => `${index}`).join(" "));
    const { length } = recordsOf(source)[TAMPERED] as Uint8Array;
    await fc.assert(
      fc.asyncProperty(fc.nat(length - 1), fc.nat(7), async (at, bit) => {
        const tampered = await openTampered(source, TAMPERED, (bytes) => flipBit(bytes, at, bit));
        await expectOnlySecondUnreadable(tampered);
        await tampered.storage.close();
      }),
      readSimulationSettings(),
    );
  });

  test("[YS122] so does what was cut off, added, spliced or sealed elsewhere", async () => {
    const source = await createSource();
    const [, first, , third] = recordsOf(source) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
    const { clientID } = source.doc;
    const content = messageContent({ id: "e2", parentId: "e1", json: JSON.stringify(message("e2", "e1")) });
    const sealAs = (codec: RecordCodec, clientId: number, clock: number) => () =>
      codec.prepareRecord(content).placeAt({ clientId, clock });
    const codec = new RecordCodec({ sessionId, keys: roomKeys });
    const join = (...parts: Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]));
    const cases: [where: "header" | "payload", change: (record: Uint8Array) => Uint8Array][] = [
      ["header", () => new Uint8Array(0)],
      ["header", (record) => record.slice(0, PREFIX_BYTES)],
      ["header", (record) => cutRecord(record).head.slice(0, -1)],
      ["payload", (record) => cutRecord(record).head],
      ["payload", (record) => record.slice(0, -1)],
      ["payload", (record) => join(record, Uint8Array.of(0))],
      // Its own header with another's payload, and the reverse.
      ["payload", (record) => join(cutRecord(record).head, cutRecord(first).payload)],
      ["header", (record) => join(cutRecord(third).head, cutRecord(record).payload)],
      ["header", () => first],
      ["header", sealAs(codec, clientID + 1, TAMPERED)],
      ["header", sealAs(codec, clientID, TAMPERED + 1)],
      ["header", sealAs(new RecordCodec({ sessionId, keys: otherKeys }), clientID, TAMPERED)],
      ["header", sealAs(new RecordCodec({ sessionId: "another session", keys: roomKeys }), clientID, TAMPERED)],
      ["header", sealAs(new RecordCodec({ sessionId }), clientID, TAMPERED)],
    ];
    for (const [index, [where, change]] of cases.entries()) {
      const tampered = await openTampered(source, TAMPERED, change);
      expect(await expectOnlySecondUnreadable(tampered), `case ${index}`).toBe(where);
    }
    // The same record sealed anew at its own place is one: what refused the others is their place and key.
    const renewed = await openTampered(source, TAMPERED, sealAs(codec, clientID, TAMPERED));
    expect(await logIds(renewed)).toEqual(["e1", "e2", "e3"]);
  });
});

/** What somebody without the key can put into a room, and how it is counted. */
interface Forgery {
  readonly name: string;
  readonly counted: { readonly damaged?: number; readonly newer?: number; readonly foreign?: number };
  /** `known`: a state of the room with its records. */
  make(clientId: number, known: Uint8Array, records: readonly Uint8Array[]): Uint8Array;
}

const plain = (id: string): Uint8Array =>
  new RecordCodec({ sessionId }).prepareRecord(messageContent({ id })).placeAt({ clientId: 0, clock: 0 });
const push =
  (...elements: unknown[]) =>
  (doc: Y.Doc) =>
    doc.getArray("entries").push(elements);

const forgeries: readonly Forgery[] = [
  {
    name: "bytes that are no record",
    counted: { damaged: 2 },
    make: (clientId, known) => writeAs(clientId, known, push(new Uint8Array(0), Uint8Array.of(1, 1, 0, 0, 0))),
  },
  {
    name: "a copy of an entry's record at the end",
    counted: { damaged: 1 },
    make: (clientId, known, records) => writeAs(clientId, known, push(records[1])),
  },
  {
    name: "the whole log once more, header included",
    counted: { damaged: 4 },
    make: (clientId, known, records) => writeAs(clientId, known, push(...records.slice(0, 4))),
  },
  {
    name: "a copy that sorts before everything else",
    counted: { damaged: 1 },
    make: (clientId, _known, records) => writeAs(clientId % 2, undefined, push(records[1])),
  },
  {
    name: "plain records in a keyed room",
    counted: { damaged: 2 },
    make: (clientId, known) => writeAs(clientId, known, push(plain("p1"), plain("e1"))),
  },
  {
    name: "a record of another key",
    counted: { damaged: 1 },
    make: (clientId, known) => {
      const codec = new RecordCodec({ sessionId, keys: otherKeys });
      const record = codec.prepareRecord(messageContent({ id: "o1" })).placeAt({ clientId, clock: 0 });
      return writeAs(clientId, known, push(record));
    },
  },
  {
    name: "records of a later version",
    counted: { newer: 2 },
    make: (clientId, known) => writeAs(clientId, known, push(Uint8Array.of(2), Uint8Array.of(1, 0x80, 0))),
  },
  {
    name: "elements that are no bytes",
    counted: { foreign: 5 },
    make: (clientId, known) => writeAs(clientId, known, push("text", 7, { a: 1 }, null, new Y.Map([["a", 1]]))),
  },
  {
    name: "something between the records",
    counted: { damaged: 1, foreign: 1 },
    make: (clientId, known) =>
      writeAs(clientId, known, (doc) => doc.getArray("entries").insert(1, [Uint8Array.of(1), "text"])),
  },
  {
    name: "other types beside the log",
    counted: {},
    make: (clientId, known) => writeAs(clientId, known, (doc) => void doc.getMap("notes").set("a", Uint8Array.of(1))),
  },
];

describe("a room that others write to", () => {
  test.each(forgeries)("[YS123] $name: counted, shown nowhere, in nobody's way", async ({ counted, make }) => {
    const first = await createSource();
    const second = await openReplica("device-b", { log: [...first.log] });
    const before = await readIndex(first.storage);
    const forged = make(777, Y.encodeStateAsUpdate(first.doc), recordsOf(first));
    for (const replica of [first, second]) {
      Y.applyUpdate(replica.doc, forged, "remote");
      expect(replica.storage.getUnreadable()).toMatchObject({ damaged: 0, newer: 0, foreign: 0, ...counted });
      expect(await readIndex(replica.storage)).toEqual(before);
      expect(await replica.storage.getConflicts()).toEqual([]);
      expect(await replica.storage.getLeafId()).toBe("e3");
    }
    await appendChain(first, "a1");
    await appendChain(second, "b1");
    syncAll(first, second);
    for (const replica of [first, second, await openReplica("device-c", { log: [...second.log] })]) {
      expect((await logIds(replica)).sort()).toEqual(["a1", "b1", "e1", "e2", "e3"]);
      expect((await replica.storage.getPathToRoot("b1")).map(({ id }) => id)).toEqual(["e1", "e2", "e3", "b1"]);
      expect(replica.storage.getUnreadable()).toMatchObject(counted);
    }
    expect(await logIds(second)).toEqual(await logIds(first));
  });

  const settings = readSimulationSettings();

  test(
    "[YS123] whatever mixture of it arrives in whatever order between entries, all replicas agree",
    async () => {
      let forged = 0;
      const anyMixture = fc.record({
        chosen: fc.array(fc.nat(forgeries.length - 1), { minLength: 1, maxLength: 6 }),
        order: fc.array(fc.nat(), { minLength: 6, maxLength: 6 }),
      });
      await fc.assert(
        fc.asyncProperty(anyMixture, async ({ chosen, order }) => {
          const first = await createSource();
          const second = await openReplica("device-b", { log: [...first.log] });
          const records = recordsOf(first);
          const known = Y.encodeStateAsUpdate(first.doc);
          const updates = chosen.map((which, index) =>
            (forgeries[which] as Forgery).make(2 * index + 10, known, records),
          );
          for (const [index, update] of updates.entries()) {
            Y.applyUpdate(first.doc, update, "remote");
            await appendChain(first, `a${index}`);
          }
          const shuffled = updates
            .map((update, index) => [order[index] ?? 0, update] as const)
            .sort(([a], [b]) => a - b)
            .map(([, update]) => update);
          for (const [index, update] of shuffled.entries()) {
            await appendChain(second, `b${index}`);
            Y.applyUpdate(second.doc, update, "remote");
          }
          syncAll(first, second);
          const counts = first.storage.getUnreadable();
          const index = await readIndex(first.storage);
          const third = await openReplica("device-c", { log: [Y.encodeStateAsUpdate(first.doc)] });
          for (const { storage } of [second, third]) {
            expect(storage.getUnreadable()).toEqual(counts);
            expect(await readIndex(storage)).toEqual(index);
          }
          for (const { storage } of [first, second, third]) expect(storage.getWaiting()).toEqual([]);
          const written = chosen.flatMap((_, at) => [`a${at}`, `b${at}`]);
          expect((await logIds(first)).sort()).toEqual(["e1", "e2", "e3", ...written].sort());
          expect(await first.storage.getLeafId()).toBe(`a${chosen.length - 1}`);
          expect(await second.storage.getLeafId()).toBe(`b${chosen.length - 1}`);
          forged += counts.damaged + counts.newer + counts.foreign;
          for (const { storage } of [first, second, third]) await storage.close();
        }),
        settings,
      );
      expect(forged).toBeGreaterThan(0);
    },
    simulationTimeoutMs(settings, 5_000),
  );

  test("[YS124] elements that a foreign client deletes stay with those who have them, and the log goes on", async () => {
    const first = await createSource();
    const second = await openReplica("device-b", { log: [...first.log] });
    const before = await readIndex(first.storage);
    const known = Y.encodeStateAsUpdate(first.doc);
    const deletion = writeAs(5, known, (doc) => doc.getArray("entries").delete(0, doc.getArray("entries").length));
    for (const replica of [first, second]) {
      Y.applyUpdate(replica.doc, deletion, "remote");
      expect(await readIndex(replica.storage)).toEqual(before);
      expect(replica.storage.getUnreadable()).toMatchObject({ damaged: 0, newer: 0, foreign: 4 });
      await replica.storage.setLeafId("e1");
    }
    await appendChain(first, "a1");
    await appendChain(second, "b1");
    syncAll(first, second);
    for (const replica of [first, second]) {
      expect((await logIds(replica)).filter((id) => id.length === 2)).toEqual(
        expect.arrayContaining(["e1", "e2", "e3", "a1", "b1"]),
      );
    }
    expect(await first.storage.getLeafId()).toBe("a1");
    expect(await second.storage.getLeafId()).toBe("b1");
    expect(await logIds(second)).toEqual(await logIds(first));
  });
});

describe("a key holder who writes what he should not", () => {
  /** A record sealed with the room's key where a client other than the devices' puts it first in the log. */
  const sealFirst = (content: Parameters<typeof messageContent>[0], clientId: number): Uint8Array => {
    const codec = new RecordCodec({ sessionId, keys: roomKeys });
    const record = codec.prepareRecord(messageContent(content)).placeAt({ clientId, clock: 0 });
    return writeAs(clientId, undefined, push(record));
  };

  test("[YS125] an entry that sorts before all others is shown there and moves nobody", async () => {
    const first = await createSource();
    const second = await openReplica("device-b", { log: [...first.log] });
    const newcomer = await openReplica("device-c", { log: [...first.log] });
    const forged = message("early", null, "I was first");
    const update = sealFirst({ id: "early", deviceId: "device-a", n: 2 ** 40, json: JSON.stringify(forged) }, 0);
    for (const replica of [first, second, newcomer]) {
      Y.applyUpdate(replica.doc, update, "remote");
      expect(await logIds(replica)).toEqual(["early", "e1", "e2", "e3"]);
      expect(await replica.storage.getLeafId()).toBe("e3");
      await appendChain(replica, `after-${replica.doc.clientID}`);
    }
    syncAll(first, second, newcomer);
    for (const replica of [second, newcomer]) expect(await logIds(replica)).toEqual(await logIds(first));
    const path = await first.storage.getPathToRoot(await first.storage.getLeafId());
    expect(path.map(({ id }) => id)).toEqual(["e1", "e2", "e3", `after-${first.doc.clientID}`]);
  });

  test("[YS125] an early record of an id that is there already takes its place, and is told as a conflict", async () => {
    const first = await createSource();
    const second = await openReplica("device-b", { log: [...first.log] });
    const forged = message("e2", "e1", "never said");
    const update = sealFirst({ id: "e2", parentId: "e1", deviceId: "device-x", n: 3, json: JSON.stringify(forged) }, 1);
    for (const replica of [first, second]) {
      Y.applyUpdate(replica.doc, update, "remote");
      expect(await replica.storage.getConflicts()).toEqual([{ id: "e2", deviceIds: ["device-x", "device-a"] }]);
      expect(replica.storage.getAuthor("e2")).toBe("device-x");
      expect((await logIds(replica)).sort()).toEqual(["e1", "e2", "e3"]);
      expect(await replica.storage.getLeafId()).toBe("e3");
    }
  });

  test("[YS125] a second header changes nothing unless it is smaller, and then for all alike", async () => {
    const first = await createSource();
    const second = await openReplica("device-b", { log: [...first.log] });
    const headers = ["2027-01-01T00:00:00.000Z", "2025-01-01T00:00:00.000Z"].map((time) => headerText(sessionId, time));
    for (const [index, json] of headers.entries()) {
      const update = sealFirst({ id: sessionId, type: "session", json }, 20 + index);
      const shown = index === 0 ? headerText(sessionId) : json;
      for (const replica of [first, second]) {
        Y.applyUpdate(replica.doc, update, "remote");
        expect(replica.storage.getHeaderJson()).toBe(shown);
        expect(await logIds(replica)).toEqual(["e1", "e2", "e3"]);
        expect(replica.storage.getUnreadable()).toMatchObject({ damaged: 0, newer: 0, foreign: 0 });
      }
    }
  });
});

describe("a wrong key", () => {
  test.each([
    ["another key", otherKeys],
    ["no key", undefined],
  ])("[YS15] %s: nothing is shown, nothing is told, and no update leaves", async (_name, keys) => {
    const source = await createSource();
    const ownLeafBefore = { leafId: "e2", ownRecordId: null };
    const replica = await openReplica("device-b", { keys, log: [...source.log] });
    replica.ownLeaf.leaf = ownLeafBefore;
    const { storage } = replica;
    let heard = 0;
    storage.subscribe(() => heard++);
    const updates = replica.log.length;
    await appendChain(source, "e4");
    deliver(source, replica);
    const refuse = (call: Promise<unknown>) => expect(call).rejects.toMatchObject({ code: "invalid_session" });
    await refuse(storage.getMetadata());
    await refuse(storage.appendEntry(message("x", null)));
    await refuse(storage.appendJson([JSON.stringify(message("x", null))]));
    await refuse(storage.setLeafId(null));
    await refuse(storage.create(headerText(sessionId)));
    await expect(storage.setLeafId("e1")).rejects.toMatchObject({
      code: expect.stringMatching(/invalid_session|not_found/),
    });
    expect(storage.getHeaderJson()).toBeUndefined();
    expect(await storage.getEntries()).toEqual([]);
    expect(await storage.getTips()).toEqual([]);
    expect(await storage.getChildren(null)).toEqual([]);
    expect(await storage.findEntries("message")).toEqual([]);
    expect(await storage.getEntry("e1")).toBeUndefined();
    expect(await storage.getEntryJson("e1")).toBeUndefined();
    expect(await storage.getLabel("e1")).toBeUndefined();
    expect(await storage.getSessionName()).toBeUndefined();
    expect(await storage.getSessionStats()).toMatchObject({ messageCount: 0, totalTokens: 0 });
    expect(storage.getAuthor("e1")).toBeUndefined();
    expect([storage.getDeviceLeaf(), storage.getReplicaLeaf()]).toEqual([null, null]);
    expect(storage.getUnreadable()).toMatchObject({ damaged: 5, newer: 0, foreign: 0 });
    expect(replica.ownLeaf).toMatchObject({ leaf: ownLeafBefore, writes: 0 });
    expect(heard).toBe(0);
    // The one update is the delivered one.
    expect(replica.log.length).toBe(updates + 1);
    await storage.close();
  });
});
