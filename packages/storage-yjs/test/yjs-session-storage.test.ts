import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type SessionChange, type SessionEntry, SessionError } from "@coppice/core";
import { exactTexts } from "@coppice/testkit";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import { RecordCodec } from "../src/record-codec.ts";
import { pureRecordCrypto } from "../src/record-crypto.ts";
import { MAX_TRANSACTION_BYTES } from "../src/record-log.ts";
import { deriveRoomKeys } from "../src/room-keys.ts";
import { YjsSessionStorage } from "../src/yjs-session-storage.ts";
import { headerText, messageContent, testKey } from "./helpers.ts";
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
  recordsOf,
  roomKeys,
  sessionId,
  syncAll,
} from "./replica.ts";

const otherKeys = deriveRoomKeys(testKey(9), sessionId);

/** A replica of the same session whose records are those of `source` after `change`, at their own places. */
async function copyWith(source: Replica, change: (record: Uint8Array, index: number) => Uint8Array): Promise<Replica> {
  const doc = new Y.Doc();
  doc.clientID = source.doc.clientID;
  doc.getArray("entries").push(recordsOf(source).map(change));
  return openReplica("device-b", { log: [Y.encodeStateAsUpdate(doc)] });
}

function flipped(record: Uint8Array, at: number): Uint8Array {
  return record.map((byte, index) => (index === (at + record.length) % record.length ? byte ^ 1 : byte));
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  const reason: unknown = await call.then(
    () => "resolved",
    (error: unknown) => error,
  );
  return reason instanceof SessionError ? reason.code : String(reason);
}

describe("the header", () => {
  test("[YS7] create writes it as a record that is no entry, and every replica reads it", async () => {
    const text = JSON.stringify({
      type: "session",
      version: 3,
      id: sessionId,
      timestamp: "2026-01-01T00:00:00.000Z",
      cwd: "/work",
      parentSession: "parent",
      metadata: { color: "green" },
    });
    const first = await openReplica("device-a");
    await first.storage.create(text);
    const second = await openReplica("device-b");
    deliver(first, second);
    for (const { storage } of [first, second]) {
      expect(await storage.getMetadata()).toEqual({
        id: sessionId,
        createdAt: "2026-01-01T00:00:00.000Z",
        cwd: "/work",
        parentSessionPath: "parent",
        metadata: { color: "green" },
      });
      expect(storage.getHeaderJson()).toBe(text);
      expect(await storage.getEntries()).toEqual([]);
    }
    expect(recordsOf(second)).toHaveLength(1);
  });

  test("[YS7] of several headers the one with the smallest time and text counts, on every replica", async () => {
    const texts = ["2026-01-03", "2026-01-01", "2026-01-02"].map((day) => headerText(sessionId, day));
    const replicas = await Promise.all(
      texts.map(async (text, index) => {
        const replica = await openReplica(`device-${index}`);
        await replica.storage.create(text);
        return replica;
      }),
    );
    syncAll(...replicas);
    for (const { storage } of replicas) {
      expect(storage.getHeaderJson()).toBe(texts[1]);
      expect(await storage.getEntries()).toEqual([]);
    }
  });

  test("[YS7] create refuses what is no header of this session, and a second one", async () => {
    const { storage, doc } = await openReplica("device-a");
    expect(await codeOf(storage.create("{}"))).toBe("invalid_session");
    expect(await codeOf(storage.create(headerText("other")))).toBe("invalid_session");
    expect(doc.getArray("entries").length).toBe(0);
    await storage.create(headerText(sessionId));
    await storage.create(headerText(sessionId));
    expect(await codeOf(storage.create(headerText(sessionId, "2027-01-01T00:00:00.000Z")))).toBe("invalid_session");
    expect(doc.getArray("entries").length).toBe(1);
    await storage.close();
    expect(await codeOf(storage.create(headerText(sessionId)))).toBe("closed");
  });

  test("[YS7] a header record of another session is counted and not taken", async () => {
    const replica = await openReplica("device-a");
    const codec = new RecordCodec({ sessionId, keys: roomKeys });
    const content = messageContent({ id: "other", type: "session", json: headerText("other") });
    const place = { clientId: replica.doc.clientID, clock: 0 };
    pushRaw(replica, codec.prepareRecord(content).placeAt(place));
    expect(replica.storage.getUnreadable()).toMatchObject({ damaged: 1, byProblem: { malformed: 1 } });
    expect(await codeOf(replica.storage.getMetadata())).toBe("invalid_session");
  });

  test("[YS7] an entry of the header's type is refused", async () => {
    const { storage } = await createReplica("device-a");
    const entry = { ...message("e1", null), type: "session" } as unknown as SessionEntry;
    expect(await codeOf(storage.appendEntry(entry))).toBe("invalid_entry");
    expect(await storage.getEntries()).toEqual([]);
  });
});

describe("appending", () => {
  test("[YS8] an append settles when the doc's updates are durable, and fails as they fail", async () => {
    let finish: (error?: Error) => void = () => {};
    const flushed = () =>
      new Promise<void>((resolve, reject) => {
        finish = (error) => (error === undefined ? resolve() : reject(error));
      });
    const { storage } = await openReplica("device-a", { flushed });
    const created = storage.create(headerText(sessionId));
    finish();
    await created;
    const nextChange = () => new Promise<void>((resolve) => void storage.subscribe(() => resolve()));
    const settled: string[] = [];
    let changed = nextChange();
    const appended = storage.appendEntry(message("e1", null)).then(() => settled.push("append"));
    await changed;
    expect(await storage.getLeafId()).toBe("e1");
    settled.push("durable");
    finish();
    await appended;
    expect(settled).toEqual(["durable", "append"]);
    changed = nextChange();
    const failing = storage.appendEntry(message("e2", "e1"));
    await changed;
    finish(new SessionError("storage_full", "the disk is full"));
    expect(await codeOf(failing)).toBe("storage_full");
  });

  test("[YS8] the doc has emitted an entry's update when durability is asked for", async () => {
    const emitted: number[] = [];
    const replica = await openReplica("device-a", { flushed: async () => void emitted.push(replica.log.length) });
    await replica.storage.create(headerText(sessionId));
    await Promise.all([
      replica.storage.appendEntry(message("e1", null)),
      replica.storage.appendEntry(message("e2", "e1")),
    ]);
    expect(emitted).toEqual([1, 2, 3]);
  });

  test("[YS9] entries keep their exact text, also what a parser would lose, on every replica", async () => {
    const lines = [
      '{ "id":"e1","type":"message","parentId":null,"timestamp":"t","message":{"role":"user"},"__proto__":{"a":1},"n":1e400 }',
      '{"type":"label","id":"e2","parentId":"e1","timestamp":"t","targetId":"e1","label":"cut \\ud83c"}',
      '{"type":"session_info","id":"\\ud83c","parentId":"e1","timestamp":"t","name":"raw \ud83c"}',
      '{"type":"message","id":"\\udf33","parentId":"e1","timestamp":"t","big":123456789012345678901234567890,"big":2}',
    ];
    const first = await createReplica("device-a");
    const second = await openReplica("device-b");
    expect(await first.storage.appendJson(lines)).toEqual(["e1", "e2", "\ud83c", "\udf33"]);
    deliver(first, second);
    for (const { storage } of [first, second]) {
      const ids = ["e1", "e2", "\ud83c", "\udf33"];
      expect(await Promise.all(ids.map((id) => storage.getEntryJson(id)))).toEqual(lines);
      expect(await storage.getLabel("e1")).toBe("cut \ud83c");
      expect(await storage.getSessionName()).toBe("raw \ud83c");
    }
  });

  test.each([
    ["plain", undefined],
    ["sealed", roomKeys],
  ])("[YS9] every exact text reaches a second replica, %s, and is read there from the disk too", async (_, keys) => {
    const raw = {
      id: "raw",
      // Unpaired surrogates as they are, not as escapes: UTF-8 has no place for them.
      json: '{"type":"x","id":"raw","parentId":"surrogates","timestamp":"t","high":"a\ud83cb","low":"\udf33","turned":"\udf33\ud83c"}',
    };
    const texts = [...exactTexts, raw];
    const lines = texts.map(({ json }) => json);
    const first = await createReplica("device-a", { keys });
    expect(await first.storage.appendJson(lines)).toEqual(texts.map(({ id }) => id));
    const second = await openReplica("device-b", { keys });
    deliver(first, second);
    const third = await openReplica("device-b", { keys, log: [...second.log] });
    for (const { storage } of [second, third]) {
      expect(await Promise.all(texts.map(({ id }) => storage.getEntryJson(id)))).toEqual(lines);
      expect(await storage.appendJson(lines)).toEqual([]);
    }
  });

  test("[YS9] a batch travels in updates of at most 256 KiB, and importing it again writes nothing", async () => {
    const replica = await createReplica("device-a");
    const lines = Array.from({ length: 120 }, (_, index) =>
      JSON.stringify(message(`e${index}`, index === 0 ? null : `e${index - 1}`, "x".repeat(10_000))),
    );
    expect(await replica.storage.appendJson(lines)).toHaveLength(120);
    expect(replica.log.every((update) => update.length <= MAX_TRANSACTION_BYTES)).toBe(true);
    expect(replica.log.length).toBeLessThan(10);
    expect(await logIds(replica)).toEqual(lines.map((_, index) => `e${index}`));
    const updates = replica.log.length;
    expect(await replica.storage.appendJson(lines)).toEqual([]);
    expect(replica.log.length).toBe(updates);
  });

  test("[YS9] an entry that is too large is refused before any of its batch is written (F48)", async () => {
    const { storage, doc } = await createReplica("device-a");
    // Noise, because what deflates well may be longer.
    const noise = pureRecordCrypto.seal(
      testKey(),
      testKey().subarray(0, 24),
      new Uint8Array(9 * 1024 * 1024),
      testKey(),
    );
    const lines = [message("e1", null), message("e2", "e1", Buffer.from(noise).toString("base64"))];
    expect(await codeOf(storage.appendJson(lines.map((entry) => JSON.stringify(entry))))).toBe("invalid_entry");
    expect(doc.getArray("entries").length).toBe(1);
  });

  test("[YS10] two devices that import one file at once show each entry once, in one order", async () => {
    const lines = Array.from({ length: 20 }, (_, index) =>
      JSON.stringify(message(`e${index}`, index === 0 ? null : `e${index - 1}`)),
    );
    const replicas = [await createReplica("device-a"), await createReplica("device-b")] as const;
    for (const { storage } of replicas) await storage.appendJson(lines);
    const stop = connect(...replicas);
    for (const replica of replicas) {
      expect(await logIds(replica)).toEqual(lines.map((_, index) => `e${index}`));
      expect(await replica.storage.getConflicts()).toEqual([]);
      expect(await replica.storage.getLeafId()).toBe("e19");
      expect(await replica.storage.appendJson(lines)).toEqual([]);
    }
    stop();
    expect(recordsOf(replicas[0])).toHaveLength(42);
  });

  test("[YS10] one id with different contents shows the first in the log and is reported", async () => {
    const replicas = [await createReplica("device-a"), await createReplica("device-b")] as const;
    await replicas[0].storage.appendEntry(message("e1", null, "from a"));
    await replicas[1].storage.appendEntry(message("e1", null, "from b"));
    syncAll(...replicas);
    const [shown, other] = await Promise.all(replicas.map(({ storage }) => storage.getEntryJson("e1")));
    expect(shown).toBe(other);
    for (const { storage } of replicas) {
      const [conflict] = await storage.getConflicts();
      expect(conflict?.id).toBe("e1");
      expect(conflict?.deviceIds[0]).toBe(storage.getAuthor("e1"));
      expect([...(conflict?.deviceIds ?? [])].sort()).toEqual(["device-a", "device-b"]);
    }
  });

  test("[ST34] another device's record of an own id is told as a conflict, the same text as none", async () => {
    const replicas = [await createReplica("device-a"), await createReplica("device-b")] as const;
    const changes: SessionChange[] = [];
    for (const { storage } of replicas) {
      await storage.appendEntry(message("same", null));
      storage.subscribe((change) => changes.push(change));
    }
    syncAll(...replicas);
    await replicas[0].storage.appendEntry(message("e1", null, "from a"));
    await replicas[1].storage.appendEntry(message("e1", null, "from b"));
    syncAll(...replicas);
    const shown = await replicas[0].storage.getEntryJson("e1");
    for (const { storage } of replicas) await storage.close();
    const conflicts = changes.flatMap((change) => (change.remote ? (change.conflicts ?? []) : []));
    expect(changes.flatMap((change) => change.conflicts ?? [])).toEqual(conflicts);
    const texts = ["from a", "from b"].map((text) => JSON.stringify(message("e1", null, text)));
    expect(conflicts.map(({ id, jsons }) => ({ id, jsons: [...jsons].sort() }))).toEqual([
      { id: "e1", jsons: texts },
      { id: "e1", jsons: texts },
    ]);
    expect(conflicts.map(({ jsons }) => jsons[0])).toEqual([shown, shown]);
  });

  test("[YS11] an entry tells the device that wrote it", async () => {
    const [first, second] = [await createReplica("device-a"), await openReplica("device-b")];
    await appendChain(first, "e1");
    deliver(first, second);
    await appendChain(second, "e2");
    deliver(second, first);
    for (const { storage } of [first, second]) {
      expect(["e1", "e2", "e3"].map((id) => storage.getAuthor(id))).toEqual(["device-a", "device-b", undefined]);
    }
  });

  test("[YS11] subscribers hear remote and own changes apart, one change per transaction", async () => {
    const [first, second] = [await createReplica("device-a"), await openReplica("device-b")];
    const heard: [string[], boolean][] = [];
    second.storage.subscribe(({ added, remote }: SessionChange) => {
      heard.push([added.map(({ id }) => id), remote]);
    });
    await appendChain(first, "e1", "e2");
    deliver(first, second);
    await appendChain(second, "e3");
    await second.storage.close();
    expect(heard).toEqual([
      [["e1", "e2"], true],
      [["e3"], false],
    ]);
  });

  test("[YS11] entries are counted in their order of arrival, also those that land early in the log", async () => {
    const [first, second] = [await createReplica("device-a"), await openReplica("device-b")];
    deliver(first, second);
    [first.doc.clientID, second.doc.clientID] = [1, 2];
    await appendChain(first, "a1");
    await second.storage.appendEntry(message("b1", null));
    deliver(first, second);
    expect(await logIds(second)).toEqual(["a1", "b1"]);
    const arrived = await second.storage.getEntries({ afterEntrySeq: 1 });
    expect(arrived.map(({ id }) => id)).toEqual(["a1"]);
  });

  test("[YS12] an entry whose parent has not arrived waits, is named, and attaches when it comes", async () => {
    const [first, second] = [await createReplica("device-a"), await openReplica("device-b")];
    deliver(first, second);
    await first.storage.appendEntry(message("child", "parent"));
    deliver(first, second);
    expect(second.storage.getWaiting()).toEqual(["child"]);
    expect(await codeOf(second.storage.getPathToRoot("child"))).toBe("invalid_session");
    await second.storage.appendEntry(message("parent", null));
    expect(second.storage.getWaiting()).toEqual([]);
    expect((await second.storage.getPathToRoot("child")).map(({ id }) => id)).toEqual(["parent", "child"]);
  });

  test("[YS12] an update that came before its predecessors waits visibly", async () => {
    const [first, second] = [await createReplica("device-a"), await openReplica("device-b")];
    await appendChain(first, "e1", "e2");
    const last = first.log.at(-1) as Uint8Array;
    Y.applyUpdate(second.doc, last, "remote");
    expect(second.storage.isWaiting).toBe(true);
    expect(await second.storage.getEntries()).toEqual([]);
    deliver(first, second);
    expect(second.storage.isWaiting).toBe(false);
    expect(await logIds(second)).toEqual(["e1", "e2"]);
  });
});

describe("records that do not open", () => {
  test("[YS13] a record copied to another place is counted and shown nowhere", async () => {
    const replica = await createReplica("device-a");
    await appendChain(replica, "e1", "e2");
    pushRaw(replica, recordsOf(replica)[1]);
    expect(await logIds(replica)).toEqual(["e1", "e2"]);
    expect(replica.storage.getUnreadable()).toEqual({
      damaged: 1,
      newer: 0,
      foreign: 0,
      byProblem: { not_authentic: 1 },
    });
    await appendChain(replica, "e3");
    expect((await replica.storage.getPathToRoot("e3")).map(({ id }) => id)).toEqual(["e1", "e2", "e3"]);
  });

  test("[YS13] records in another order, of another session, re-keyed, plain, or with a flag flipped stay closed", async () => {
    const source = await createReplica("device-a");
    await appendChain(source, "e1", "e2");
    const records = recordsOf(source);
    const swapped = await copyWith(source, (_, index) => records[[0, 2, 1][index] ?? 0] as Uint8Array);
    expect(await logIds(swapped)).toEqual([]);
    expect(swapped.storage.getUnreadable().byProblem).toEqual({ not_authentic: 2 });

    const seal = (codec: RecordCodec, index: number) =>
      codec.prepareRecord(messageContent()).placeAt({ clientId: source.doc.clientID, clock: index });
    const cases: [string, (record: Uint8Array, index: number) => Uint8Array][] = [
      ["other_key", (_, index) => seal(new RecordCodec({ sessionId, keys: otherKeys }), index)],
      ["not_authentic", (_, index) => seal(new RecordCodec({ sessionId: "other", keys: roomKeys }), index)],
      ["plain_in_sealed_room", (_, index) => seal(new RecordCodec({ sessionId }), index)],
      ["not_authentic", (record) => record.map((byte, at) => (at === 1 ? byte ^ 2 : byte))],
    ];
    for (const [problem, change] of cases) {
      const copy = await copyWith(source, (record, index) => (index === 1 ? change(record, index) : record));
      expect(await logIds(copy)).toEqual(["e2"]);
      expect(copy.storage.getUnreadable()).toMatchObject({ damaged: 1, byProblem: { [problem]: 1 } });
    }
  });

  test("[YS13] records of a later version are counted apart, and the log goes on", async () => {
    const source = await createReplica("device-a");
    await appendChain(source, "e1", "e2");
    const copy = await copyWith(source, (record, index) => (index === 1 ? Uint8Array.of(2, 9, 9) : record));
    expect(copy.storage.getUnreadable()).toEqual({ damaged: 0, newer: 1, foreign: 0, byProblem: { newer_version: 1 } });
    await copy.storage.appendEntry(message("e3", "e2"));
    expect(await logIds(copy)).toEqual(["e2", "e3"]);
  });

  test("[YS13] other content in the array is counted, and the log goes on", async () => {
    const replica = await createReplica("device-a");
    pushRaw(replica, "text", { object: 1 }, 5);
    await appendChain(replica, "e1");
    replica.doc.getArray("entries").delete(1, 1);
    expect(replica.storage.getUnreadable()).toMatchObject({ damaged: 0, newer: 0, foreign: 3 });
    expect(await logIds(replica)).toEqual(["e1"]);
  });

  test("[YS14] an entry whose payload alone is damaged stays on its path and says so", async () => {
    const source = await createReplica("device-a");
    await appendChain(source, "e1", "e2", "e3");
    const copy = await copyWith(source, (record, index) => (index === 2 ? flipped(record, -1) : record));
    const path = await copy.storage.getPathToRoot("e3");
    expect(path).toEqual([
      message("e1", null),
      {
        type: "unreadable",
        id: "e2",
        parentId: "e1",
        timestamp: "2026-01-02T00:00:00.000Z",
        recordType: "message",
        problem: "not_authentic",
      },
      message("e3", "e2"),
    ]);
    expect(await codeOf(copy.storage.getEntryJson("e2"))).toBe("invalid_entry");
    expect((await copy.storage.findEntries("message")).map(({ id }) => id)).toEqual(["e1", "e3"]);
    expect(copy.storage.getUnreadable().damaged).toBe(0);
  });

  test("[YS14] an entry whose payload is damaged can be brought in again, and is shown from the good copy", async () => {
    const source = await createReplica("device-a");
    await appendChain(source, "e1", "e2", "e3");
    const copy = await copyWith(source, (record, index) => (index === 2 ? flipped(record, -1) : record));
    const lines = [message("e1", null), message("e2", "e1"), message("e3", "e2")].map((entry) => JSON.stringify(entry));
    expect(await copy.storage.appendJson(lines)).toEqual(["e2"]);
    expect(await copy.storage.appendJson(lines)).toEqual([]);
    expect(await copy.storage.getEntry("e2")).toEqual(message("e2", "e1"));
    expect(await copy.storage.getEntryJson("e2")).toBe(lines[1]);
    expect(await logIds(copy)).toEqual(["e1", "e2", "e3"]);
  });

  test("[YS14] a payload that speaks of another entry than its header, or is no entry, is not shown", async () => {
    const replica = await createReplica("device-a");
    const codec = new RecordCodec({ sessionId, keys: roomKeys });
    const timeless = { ...message("e3", null), timestamp: 7 };
    const texts = [JSON.stringify(message("e9", null)), "no JSON", "null", JSON.stringify(timeless)];
    for (const [index, json] of texts.entries()) {
      const place = { clientId: replica.doc.clientID, clock: 1 + index };
      pushRaw(replica, codec.prepareRecord(messageContent({ id: `e${index}`, json })).placeAt(place));
    }
    expect((await replica.storage.getEntries()).map(({ type }) => type as string)).toEqual(
      texts.map(() => "unreadable"),
    );
  });

  test("[YS14] an entry with an empty id is counted", async () => {
    const replica = await createReplica("device-a");
    const codec = new RecordCodec({ sessionId, keys: roomKeys });
    const place = { clientId: replica.doc.clientID, clock: 1 };
    pushRaw(replica, codec.prepareRecord(messageContent({ id: "" })).placeAt(place));
    expect(replica.storage.getUnreadable().byProblem).toEqual({ malformed: 1 });
  });

  test("[YS15] with a wrong key, or none, nothing is shown and nothing can be written", async () => {
    const source = await createReplica("device-a");
    await appendChain(source, "e1");
    for (const keys of [otherKeys, undefined]) {
      const replica = await openReplica("device-b", { keys, log: [...source.log] });
      const before = Y.encodeStateAsUpdate(replica.doc);
      expect(await replica.storage.getEntries()).toEqual([]);
      expect(await codeOf(replica.storage.getMetadata())).toBe("invalid_session");
      expect(await codeOf(replica.storage.appendEntry(message("e2", null)))).toBe("invalid_session");
      expect(await codeOf(replica.storage.appendJson([JSON.stringify(message("e2", null))]))).toBe("invalid_session");
      expect(await codeOf(replica.storage.setLeafId(null))).toBe("invalid_session");
      expect(await codeOf(replica.storage.create(headerText(sessionId)))).toBe("invalid_session");
      expect(Y.encodeStateAsUpdate(replica.doc)).toEqual(before);
    }
  });

  test("[YS15] an unsealed room works without keys, and its records are plain", async () => {
    const first = await createReplica("device-a", { keys: undefined });
    const second = await openReplica("device-b", { keys: undefined });
    await appendChain(first, "e1");
    deliver(first, second);
    expect(await logIds(second)).toEqual(["e1"]);
    // Deflated, and neither sealed nor padded.
    expect(recordsOf(second).map(([, flags]) => flags)).toEqual([2, 2]);
  });
});

describe("the order of what is last", () => {
  test("[YS16] a label written later wins on every replica, though it sorts earlier in the log", async () => {
    const [first, second] = [await createReplica("device-a"), await openReplica("device-b")];
    await appendChain(first, "e1");
    deliver(first, second);
    [first.doc.clientID, second.doc.clientID] = [1, 2];
    const label = (id: string, text: string): SessionEntry => ({
      type: "label",
      id,
      parentId: "e1",
      timestamp: "t",
      targetId: "e1",
      label: text,
    });
    // The second device writes one label; the first, which does not know it, several: its last is later.
    await second.storage.appendEntry(label("b1", "one of b"));
    for (const id of ["a1", "a2", "a3"]) await first.storage.appendEntry(label(id, id));
    syncAll(first, second);
    expect(await logIds(first)).toEqual(["e1", "a1", "a2", "a3", "b1"]);
    for (const { storage } of [first, second]) expect(await storage.getLabel("e1")).toBe("a3");
    await second.storage.appendEntry(label("b2", "two of b"));
    deliver(second, first);
    for (const { storage } of [first, second]) expect(await storage.getLabel("e1")).toBe("two of b");
  });

  test("[YS16] a number greater than the log is long wins nothing and is not counted on from", async () => {
    const replica = await createReplica("device-a");
    const codec = new RecordCodec({ sessionId, keys: roomKeys });
    const forged = (clock: number, name: string) =>
      codec
        .prepareRecord({
          ...messageContent({ id: name, type: "session_info", n: 2 ** 50, sessionName: name, role: undefined }),
          json: JSON.stringify({ type: "session_info", id: name, parentId: null, timestamp: "t", name }),
        })
        .placeAt({ clientId: replica.doc.clientID, clock });
    pushRaw(replica, forged(1, "forged"));
    const honest: SessionEntry = { type: "session_info", id: "h", parentId: null, timestamp: "t", name: "honest" };
    await replica.storage.appendEntry(honest);
    pushRaw(replica, forged(3, "forged again"));
    expect(await replica.storage.getSessionName()).toBe("honest");
    const own = codec.openHeader(recordsOf(replica)[2] as Uint8Array, { clientId: replica.doc.clientID, clock: 2 });
    expect(own).toMatchObject({ ok: true, value: { id: "h", n: 2 } });
  });
});

test("[YS150] the doc of another copy of yjs is refused", async () => {
  // The CommonJS build of yjs is another copy than the one modules import.
  const require = createRequire(import.meta.url);
  const other = require(join(dirname(require.resolve("yjs")), "yjs.cjs")) as typeof Y;
  expect(other.Doc).not.toBe(Y.Doc);
  const doc = new other.Doc();
  const opened = YjsSessionStorage.open({ doc, sessionId, keys: roomKeys, deviceId: "device-a", synced: true });
  expect(await codeOf(opened)).toBe("version_mismatch");
  expect(doc.store.clients.size).toBe(0);
});
