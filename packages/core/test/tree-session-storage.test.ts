import { describe, expect, test } from "vitest";
import {
  type EntryRecord,
  entryToTreeNode,
  InMemorySessionStorage,
  jsonToRecord,
  type SessionChange,
  type SessionEntry,
  SessionError,
  type TreeNode,
  TreeSessionStorage,
} from "../src/index.ts";

interface SlowNode extends TreeNode {
  readonly json: string;
}

/** Shows records at once and makes them durable when the test says so; reads payloads later. */
class SlowStorage extends TreeSessionStorage<SlowNode> {
  readonly steps: string[] = [];
  readonly #commits: (() => void)[] = [];
  #failure: SessionError | undefined;

  constructor() {
    super({ metadata: { id: "s", createdAt: "2026-01-01T00:00:00.000Z" } });
  }

  commit(): void {
    for (const finish of this.#commits.splice(0)) finish();
  }

  failNext(error: SessionError): void {
    this.#failure = error;
  }

  receive(entries: readonly SessionEntry[], at: number): void {
    this.show([{ nodes: entries.map((entry) => toNode(jsonToRecord(JSON.stringify(entry)))), at }], true);
  }

  protected override async writeRecords(records: readonly EntryRecord[]): Promise<void> {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
    this.steps.push(`write ${records.map((record) => record.entry.id).join(" ")}`);
    this.show([{ nodes: records.map(toNode) }], false);
    await new Promise<void>((resolve) => this.#commits.push(resolve));
  }

  protected override readJson(node: SlowNode): Promise<string> {
    return Promise.resolve(node.json);
  }

  protected override async release(): Promise<void> {
    this.steps.push("release");
  }
}

function toNode(record: EntryRecord): SlowNode {
  return { ...entryToTreeNode(record.entry), json: record.json };
}

function message(id: string, parentId: string | null): SessionEntry {
  return { type: "message", id, parentId, timestamp: "2026-01-01T00:00:00.000Z", message: { role: "user" } };
}

/** The change that brings the entry. */
function untilChange(storage: SlowStorage, id: string): Promise<SessionChange> {
  return new Promise((resolve) => {
    const stop = storage.subscribe((change) => {
      if (!change.added.some((entry) => entry.id === id)) return;
      stop();
      resolve(change);
    });
  });
}

describe("TreeSessionStorage", () => {
  test("[ST31] an entry is visible before it is durable, and the next append does not wait for the one before", async () => {
    const storage = new SlowStorage();
    let isDurable = false;
    const visible = untilChange(storage, "b");
    const appended = Promise.all([storage.appendEntry(message("a", null)), storage.appendEntry(message("b", "a"))]);
    const noted = appended.then(() => {
      isDurable = true;
    });
    await visible;
    expect(await storage.getLeafId()).toBe("b");
    expect((await storage.getPathToRoot("b")).map((entry) => entry.id)).toEqual(["a", "b"]);
    expect(isDurable).toBe(false);
    storage.commit();
    await noted;
    expect(isDurable).toBe(true);
    expect(storage.steps).toEqual(["write a", "write b"]);
  });

  test("[ST15] an append that has to read payloads first holds the later ones back", async () => {
    const storage = new SlowStorage();
    const first = storage.appendEntry(message("a", null));
    const known = JSON.stringify(message("a", null));
    const calls = [storage.appendJson([known, JSON.stringify(message("b", "a"))]), storage.setLeafId("a")];
    const last = untilChange(storage, "c");
    calls.push(storage.appendEntry(message("c", "a")));
    await last;
    storage.commit();
    expect((await Promise.all(calls))[0]).toEqual(["b"]);
    await first;
    const leafEntry = (await storage.findEntries("leaf"))[0];
    expect(storage.steps).toEqual(["write a", "write b", `write ${leafEntry?.id}`, "write c"]);
    expect(leafEntry).toMatchObject({ parentId: "b", targetId: "a" });
  });

  test("[ST23] close waits until every append is durable, then releases once", async () => {
    const storage = new SlowStorage();
    const visible = untilChange(storage, "a");
    const appended = storage.appendEntry(message("a", null));
    const closed = Promise.all([storage.close(), storage.close()]);
    await visible;
    expect(storage.steps).toEqual(["write a"]);
    storage.commit();
    await Promise.all([appended, closed]);
    expect(storage.steps).toEqual(["write a", "release"]);
  });

  test("[ST32] a write that fails rejects that append alone; the storage goes on", async () => {
    const storage = new SlowStorage();
    storage.failNext(new SessionError("storage_full", "The disk is full"));
    await expect(storage.appendEntry(message("a", null))).rejects.toMatchObject({ code: "storage_full" });
    expect(await storage.getEntries()).toEqual([]);
    const visible = untilChange(storage, "b");
    const appended = storage.appendEntry(message("b", null));
    await visible;
    storage.commit();
    await appended;
    expect(await storage.getLeafId()).toBe("b");
    await storage.close();
  });

  test("[ST33] entries of others come in where they belong in the log, are told as remote and leave the leaf alone", async () => {
    const storage = new SlowStorage();
    const own = storage.appendEntry(message("own", null));
    const heard = untilChange(storage, "theirs");
    storage.receive([message("theirs", null), message("child", "own")], 0);
    const change = await heard;
    expect(change.remote).toBe(true);
    expect(change.added.map((entry) => entry.id)).toEqual(["theirs", "child"]);
    expect((await storage.getEntries()).map((entry) => entry.id)).toEqual(["theirs", "child", "own"]);
    expect(await storage.getLeafId()).toBe("own");
    storage.commit();
    await own;
  });

  test("[ST22] a listener that throws is reported as uncaught and keeps neither the append nor others from going on", async () => {
    const storage = new InMemorySessionStorage();
    // The test runner would count the error as its own, so its handlers step aside meanwhile.
    const runnerHandlers = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    try {
      const uncaught = new Promise<unknown>((resolve) => process.once("uncaughtException", resolve));
      storage.subscribe(() => {
        throw new Error("listener");
      });
      const heard = new Promise<SessionChange>((resolve) => storage.subscribe(resolve));
      await storage.appendEntry(message("a", null));
      expect((await heard).added).toHaveLength(1);
      expect(await uncaught).toMatchObject({ message: "listener" });
    } finally {
      for (const handler of runnerHandlers) process.on("uncaughtException", handler);
    }
  });
});

describe("InMemorySessionStorage", () => {
  test("[ST10] it starts from entries or exact texts, its leaf the effect of the last", async () => {
    const text = '{ "type":"leaf","id":"f","parentId":"a","timestamp":"t","targetId":null }';
    const storage = new InMemorySessionStorage({ entries: [message("a", null)], lines: [text] });
    expect(await storage.getLeafId()).toBeNull();
    expect(await storage.getEntryJson("f")).toBe(text);
    expect(() => new InMemorySessionStorage({ lines: [text.replace("null", '"nowhere"')] })).toThrow(
      expect.objectContaining({ code: "invalid_session" }),
    );
    expect(() => new InMemorySessionStorage({ lines: ["no"] })).toThrow(
      expect.objectContaining({ code: "invalid_entry" }),
    );
  });

  test("[ST14] ids and times come from the sources it is given; an id in use is not given again", async () => {
    const ids = ["a", "b", "c"];
    const storage = new InMemorySessionStorage({ createId: () => ids.shift() ?? "", now: () => 0 });
    await storage.appendEntry(message("a", null));
    expect(await storage.createEntryId()).toBe("b");
    await storage.setLeafId("a");
    expect(await storage.getEntry("c")).toMatchObject({ timestamp: "1970-01-01T00:00:00.000Z" });
    expect(await storage.getMetadata()).toMatchObject({ createdAt: "1970-01-01T00:00:00.000Z" });
  });
});
