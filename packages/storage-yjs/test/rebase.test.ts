import type { SessionChange, SessionEntry } from "@coppice/core";
import { describe, expect, it } from "vitest";
import * as Y from "yjs";
import type { LogRecord } from "../src/record-log.ts";
import { createReplica, openReplica } from "./replica.ts";

const message = (id: string, parentId: string | null, content: string): SessionEntry => ({
  type: "message",
  id,
  parentId,
  timestamp: "2026-01-02T03:04:05.678Z",
  message: { role: "user", content, timestamp: 0 },
});

/** The records of a doc, in log order. */
function recordsOf(doc: Y.Doc): LogRecord[] {
  const records: LogRecord[] = [];
  for (let item = doc.getArray("entries")._start; item !== null; item = item.right)
    if (item.content instanceof Y.ContentBinary)
      records.push({ clientId: item.id.client, clock: item.id.clock, bytes: item.content.content });
  return records;
}

/** Three entries that had to leave the log, and a doc of the two before them and one of somebody else's. */
async function makeRebase() {
  const replica = await createReplica("laptop");
  const { doc, storage } = replica;
  await storage.appendEntry(message("a", null, "one"));
  await storage.appendEntry(message("b", "a", "two"));
  const kept = Y.encodeStateAsUpdate(doc);
  await storage.appendEntry({ ...message("l", "b", ""), type: "label", targetId: "a", label: "mine" } as SessionEntry);
  await storage.appendEntry(message("c", "b", "three"));
  await storage.setLeafId("a");
  const setAside = recordsOf(doc).slice(3);
  const other = await openReplica("phone", { log: [kept] });
  await other.storage.appendEntry(message("p", "b", "from the phone"));
  const next = new Y.Doc();
  Y.applyUpdate(next, Y.encodeStateAsUpdate(other.doc));
  return { ...replica, next, setAside };
}

describe("moving to another doc", () => {
  it("[YS140] texts, leaf, labels and author stay; what is told is what was not there before", async () => {
    const { storage, next, setAside, doc } = await makeRebase();
    const before = await storage.getEntries();
    const json = await storage.getEntryJson("c");
    const changes: SessionChange[] = [];
    storage.subscribe((change) => void changes.push(change));
    expect(storage.rebase(next, setAside)).toEqual([]);
    expect(await storage.getLeafId()).toBe("a");
    expect(storage.getDeviceLeaf()).toBe("a");
    expect(await storage.getEntryJson("c")).toBe(json);
    expect(await storage.getLabel("a")).toBe("mine");
    expect(storage.getAuthor("c")).toBe("laptop");
    expect((await storage.getEntries()).map(({ id }) => id)).toEqual(["a", "b", "p", "l", "c", before.at(-1)?.id]);
    const arrived = await storage.getEntries({ afterEntrySeq: 2 });
    expect(arrived.map(({ id }) => id)).toEqual(["p", "l", "c", before.at(-1)?.id]);
    await storage.appendEntry(message("d", "a", "after"));
    expect(changes.flatMap(({ added }) => added.map(({ id }) => id))).toEqual(["p", "d"]);
    expect(recordsOf(doc)).toHaveLength(6);
    expect(recordsOf(next)).toHaveLength(8);
  });

  it("[YS140] records keep their order among those of others: a later label of somebody else stays the last", async () => {
    const { storage, next, setAside } = await makeRebase();
    const phone = await openReplica("phone", { log: [Y.encodeStateAsUpdate(next)] });
    for (const [at, label] of ["x", "y", "z"].entries())
      await phone.storage.appendEntry({
        ...message(`later-${at}`, "p", ""),
        type: "label",
        targetId: "a",
        label,
      } as SessionEntry);
    storage.rebase(phone.doc, setAside);
    expect(await storage.getLabel("a")).toBe("z");
    expect(await phone.storage.getLabel("a")).toBe("z");
  });

  it("[YS140] what the doc says already is not written again, the header among it; another text of an id is", async () => {
    const { storage, doc, next, setAside } = await makeRebase();
    const all = recordsOf(doc);
    storage.rebase(next, all);
    expect(recordsOf(next)).toHaveLength(7);
    storage.rebase(next, setAside);
    expect(recordsOf(next)).toHaveLength(7);
    const thief = await openReplica("thief", { log: [Y.encodeStateAsUpdate(next)] });
    await thief.storage.appendEntry(message("other", "b", "x"));
    const twin = await createReplica("tablet");
    await twin.storage.appendEntry(message("c", null, "another three"));
    expect(storage.rebase(thief.doc, recordsOf(twin.doc).slice(1))).toEqual([]);
    expect(await storage.getConflicts()).toMatchObject([{ id: "c" }]);
  });

  it("[YS140] what does not open is given back and nothing else is disturbed", async () => {
    const { storage, next, setAside } = await makeRebase();
    const [first, ...others] = setAside;
    const moved = { ...(first as LogRecord), clock: 99 };
    const garbage = { clientId: 5, clock: 0, bytes: Uint8Array.of(1, 2, 3) };
    expect(storage.rebase(next, [moved, ...others, garbage])).toEqual([moved, garbage]);
    expect(await storage.getLabel("a")).toBeUndefined();
    expect((await storage.getEntries()).map(({ id }) => id)).toContain("c");
    expect(storage.getUnreadable()).toMatchObject({ damaged: 0 });
  });

  it("[YS140] who looks at another place goes on looking there, and comes back to the own one", async () => {
    const { storage, next, setAside } = await makeRebase();
    const writes = storage.ownWriteCount;
    storage.lookAt("b");
    storage.rebase(next, setAside);
    expect([await storage.getLeafId(), storage.getPlace()]).toEqual(["b", "a"]);
    expect(storage.ownWriteCount).toBe(writes);
    storage.lookBack();
    expect(await storage.getLeafId()).toBe("a");
  });

  it("[YS140] one that was opened while its records were out of the log stands where they leave it", async () => {
    const { next, setAside } = await makeRebase();
    const { storage, doc } = await openReplica("laptop", { log: [Y.encodeStateAsUpdate(next)] });
    expect(await storage.getLeafId()).toBe("b");
    storage.rebase(doc, setAside);
    expect([await storage.getLeafId(), storage.getDeviceLeaf()]).toEqual(["a", "a"]);
  });

  it("[YS140] a closed storage moves nowhere", async () => {
    const { storage, next, setAside } = await makeRebase();
    await storage.close();
    expect(() => storage.rebase(next, setAside)).toThrow(expect.objectContaining({ code: "closed" }));
    expect(recordsOf(next)).toHaveLength(4);
  });
});
