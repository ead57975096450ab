import { execFile } from "node:child_process";
import { appendFile, chmod, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { SessionChange, SessionEntry } from "@coppice/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { JsonlSessionStorage, readSessionFile } from "../src/index.ts";
import {
  canLimitFileSize,
  fixturesFolder,
  headerLine,
  makeTempFolder,
  messageLine,
  withFileSizeLimit,
  withoutPrivileges,
} from "./helpers.ts";

const runFile = promisify(execFile);
const a = messageLine("a", null);
const b = messageLine("b", "a");

async function openFile(content: string): Promise<{ path: string; storage: JsonlSessionStorage }> {
  const path = join(await makeTempFolder(), "session.jsonl");
  await writeFile(path, content);
  return { path, storage: await openStorage(path) };
}

async function openStorage(path: string): Promise<JsonlSessionStorage> {
  const storage = await JsonlSessionStorage.open(path);
  onTestFinished(() => storage.close());
  return storage;
}

async function idsOf(storage: JsonlSessionStorage): Promise<string[]> {
  return (await storage.getEntries()).map((entry) => entry.id);
}

async function idsInFile(path: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { entry } of await readSessionFile(path)) ids.push(entry.id);
  return ids;
}

function entry(id: string, parentId: string | null): SessionEntry {
  return JSON.parse(messageLine(id, parentId));
}

describe("writing", () => {
  it("[JL20] an append adds exactly one line and leaves every earlier byte as it was", async () => {
    const before = `\ufeff${headerLine}\r\n\n${a}\ngarbage\n`;
    const { path, storage } = await openFile(before);
    await storage.appendJson([b]);
    expect(await readFile(path, "utf8")).toBe(`${before}${b}\n`);
    await storage.setLeafId("a");
    const text = await readFile(path, "utf8");
    expect(text.startsWith(`${before}${b}\n`)).toBe(true);
    const line = text.slice(`${before}${b}\n`.length);
    expect(line.indexOf("\n")).toBe(line.length - 1);
    expect(JSON.parse(line)).toMatchObject({ type: "leaf", parentId: "b", targetId: "a" });
  });

  it.each([
    ["a whole last line", `${headerLine}\n${a}`, ["a", "x", "y"]],
    ["a torn last line", `${headerLine}\n${a}\n{"type":"mess`, ["a", "x", "y"]],
    ["nothing but its header", headerLine, ["x", "y"]],
  ])("[JL21] a file that ends without line break after %s gets one first", async (_, before, ids) => {
    const { path, storage } = await openFile(before);
    await storage.appendJson([messageLine("x", null)]);
    await storage.appendJson([messageLine("y", "x")]);
    expect(await readFile(path, "utf8")).toBe(`${before}\n${messageLine("x", null)}\n${messageLine("y", "x")}\n`);
    expect(await idsOf(storage)).toEqual(ids);
    expect(await idsInFile(path)).toEqual(ids);
  });

  it("[JL22] appends that are not awaited stand in the file in the order of the calls", async () => {
    const { path, storage } = await openFile(`${headerLine}\n`);
    const ids = Array.from({ length: 200 }, (_, index) => `e${index}`);
    await Promise.all(ids.map((id, index) => storage.appendEntry(entry(id, ids[index - 1] ?? null))));
    expect(await idsInFile(path)).toEqual(ids);
    expect(await storage.getLeafId()).toBe("e199");
  });

  it("[JL29] what a line cannot keep is refused and nothing is written", async () => {
    const { path, storage } = await openFile(`${headerLine}\n`);
    const bad = [
      '{"type":"session","id":"x","parentId":null,"timestamp":"t"}',
      messageLine("x", null).replace("hello", "\ud83c"),
      messageLine("x", null, "x".repeat(32 * 1024 * 1024)),
    ];
    for (const json of bad) {
      await expect(storage.appendJson([a, json])).rejects.toMatchObject({ code: "invalid_entry" });
    }
    expect(await readFile(path, "utf8")).toBe(`${headerLine}\n`);
    expect(await idsOf(storage)).toEqual([]);
    // The escape of half a pair is plain ASCII and may stay.
    await storage.appendJson([messageLine("x", null, "\ud83c")]);
    expect(await idsInFile(path)).toEqual(["x"]);
  });
});

describe("several writers", () => {
  it("[JL23] lines of another writer come into the tree at the next append, where they stand in the file", async () => {
    const { path, storage } = await openFile(`${headerLine}\n${a}\n`);
    const other = await openStorage(path);
    const changes: SessionChange[] = [];
    storage.subscribe((change) => changes.push(change));
    await other.appendJson([messageLine("other", "a")]);
    await storage.appendJson([messageLine("mine", "a")]);
    expect(await idsOf(storage)).toEqual(["a", "other", "mine"]);
    expect(await storage.getLeafId()).toBe("mine");
    await storage.getChildren("a").then((children) => expect(children).toHaveLength(2));
    await other.refresh();
    expect(await idsOf(other)).toEqual(["a", "other", "mine"]);
    expect(await other.getLeafId()).toBe("other");
    await storage.close();
    expect(changes.map(({ added, remote }) => [added.map(({ id }) => id), remote])).toEqual([
      [["other"], true],
      [["mine"], false],
    ]);
  });

  it("[ST34] another writer's line with an id of the file and other content is told as a conflict", async () => {
    const { path, storage } = await openFile(`${headerLine}\n${a}\n`);
    const changes: SessionChange[] = [];
    storage.subscribe((change) => changes.push(change));
    const other = messageLine("a", null, "other");
    await appendFile(path, `${a}\n${other}\n`);
    await storage.refresh();
    await storage.close();
    expect(changes).toEqual([{ added: [], remote: true, conflicts: [{ id: "a", jsons: [a, other] }] }]);
  });

  it("[JL23] a text that another writer has appended meanwhile is not written again", async () => {
    const { path, storage } = await openFile(`${headerLine}\n${a}\n`);
    await appendFile(path, `${b}\n`);
    await storage.refresh();
    expect(await storage.appendJson([b])).toEqual([]);
    expect(await idsInFile(path)).toEqual(["a", "b"]);
  });

  it("[JL23] with two processes writing as fast as they can, the tree has every line in the order of the file", async () => {
    const { path, storage } = await openFile(`${headerLine}\n${a}\n`);
    const script = `
      const { appendFileSync } = require("node:fs");
      for (let index = 0; index < 300; index++) {
        appendFileSync(process.argv[1], JSON.stringify({ type: "custom", id: "other" + index, parentId: "a", timestamp: "t" }) + "\\n");
      }`;
    let isRunning = true;
    const running = runFile(process.execPath, ["-e", script, path]).finally(() => {
      isRunning = false;
    });
    let count = 0;
    while (isRunning) {
      await Promise.all([0, 1, 2].map(() => storage.appendEntry(entry(`mine${count++}`, "a"))));
    }
    await running;
    await storage.refresh();
    const ids = await idsOf(storage);
    expect(ids).toEqual(await idsInFile(path));
    expect(ids).toHaveLength(1 + 300 + count);
    expect(await storage.getLeafId()).toBe(`mine${count - 1}`);
  });

  it("[JL24] a line that another writer has not finished waits for its end", async () => {
    const half = b.slice(0, 40);
    const { path, storage } = await openFile(`${headerLine}\n${a}\n${half}`);
    expect(await idsOf(storage)).toEqual(["a"]);
    await appendFile(path, `${b.slice(40)}\n${messageLine("c", "b").slice(0, 30)}`);
    await storage.refresh();
    expect(await idsOf(storage)).toEqual(["a", "b"]);
    await appendFile(path, `${messageLine("c", "b").slice(30)}\n`);
    await storage.refresh();
    expect(await idsOf(storage)).toEqual(["a", "b", "c"]);
    expect(await storage.getLeafId()).toBe("a");
  });

  it.each([
    ["removed", (path: string) => rm(path), "not_found"],
    ["made shorter", (path: string) => truncate(path, 20), "storage"],
    [
      "replaced",
      async (path: string) => {
        await writeFile(`${path}.new`, `${headerLine}\n${a}\n${b}\n`);
        await rename(`${path}.new`, path);
      },
      "storage",
    ],
  ])("[JL25] nothing is appended to a file that was %s", async (_, change, code) => {
    const { path, storage } = await openFile(`${headerLine}\n${a}\n`);
    await change(path);
    const content = await readFile(path, "utf8").catch(() => undefined);
    const appending = storage.appendJson([messageLine("x", "a")]);
    await expect(appending).rejects.toMatchObject({ code, message: expect.stringContaining(path) });
    expect(await readFile(path, "utf8").catch(() => undefined)).toBe(content);
    expect(await idsOf(storage)).toEqual(["a"]);
    expect(await storage.getLeafId()).toBe("a");
  });
});

describe("failures", () => {
  it.skipIf(!canLimitFileSize)(
    "[JL26] a full disk is named, nothing of the entry stays, and appending goes on later",
    async () => {
      const { path, storage } = await openFile(`${headerLine}\n${a}\n`);
      const before = await readFile(path, "utf8");
      await withFileSizeLimit(4096, async () => {
        await expect(storage.appendJson([messageLine("x", "a", "x".repeat(10_000))])).rejects.toMatchObject({
          code: "storage_full",
          message: expect.stringContaining(`${path} cannot grow`),
        });
        expect(await readFile(path, "utf8")).toBe(before);
        expect(await idsOf(storage)).toEqual(["a"]);
        expect(await storage.getLeafId()).toBe("a");
        await storage.appendJson([b]);
      });
      await storage.appendJson([messageLine("c", "b", "x".repeat(10_000))]);
      expect(await idsOf(storage)).toEqual(["a", "b", "c"]);
      expect(await idsInFile(path)).toEqual(["a", "b", "c"]);
    },
  );

  it("[JL27] a file that may only be read opens, and an append says why it fails", async () => {
    const { path, storage } = await openFile(`${headerLine}\n${a}\n`);
    await chmod(path, 0o444);
    await chmod(join(path, ".."), 0o755);
    await withoutPrivileges(async () => {
      await expect(storage.appendJson([b])).rejects.toMatchObject({
        code: "storage",
        message: `${path} may not be used by this user; change its permissions or choose another place.`,
      });
    });
    expect(await idsOf(storage)).toEqual(["a"]);
    expect(await readFile(path, "utf8")).toBe(`${headerLine}\n${a}\n`);
  });

  it("[JL28] files of format 1 and 2 are read but not written", async () => {
    for (const name of ["version-1.jsonl", "version-2.jsonl"]) {
      const { path, storage } = await openFile(await readFile(join(fixturesFolder, name), "utf8"));
      const before = await readFile(path, "utf8");
      const leafId = await storage.getLeafId();
      expect((await storage.getPathToRoot(leafId)).length).toBeGreaterThan(1);
      await expect(storage.appendJson([messageLine("x", leafId)])).rejects.toMatchObject({
        code: "version_mismatch",
        message: expect.stringMatching(/is in session format [12], which can only be read; fork it/),
      });
      expect(await readFile(path, "utf8")).toBe(before);
    }
  });
});

describe("opening", () => {
  it("[JL30] create writes the header at once, makes the folder and never replaces a file", async () => {
    const path = join(await makeTempFolder(), "new", "folder", "session.jsonl");
    const session = { id: "s", cwd: "/work", parentSessionPath: "/old.jsonl", metadata: { n: 1 } };
    const storage = await JsonlSessionStorage.create(path, session, { now: () => 1_772_438_400_000 });
    onTestFinished(() => storage.close());
    const header = `{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T08:00:00.000Z","cwd":"/work","parentSession":"/old.jsonl","metadata":{"n":1}}\n`;
    expect(await readFile(path, "utf8")).toBe(header);
    expect(await storage.getMetadata()).toEqual({
      id: "s",
      createdAt: "2026-03-02T08:00:00.000Z",
      cwd: "/work",
      path,
      parentSessionPath: "/old.jsonl",
      metadata: { n: 1 },
    });
    await expect(JsonlSessionStorage.create(path, session)).rejects.toMatchObject({
      code: "storage",
      message: `${path} exists already; open it, or choose another name.`,
    });
    expect(await readFile(path, "utf8")).toBe(header);
    await expect(JsonlSessionStorage.create(`${path}2`, { cwd: "" })).rejects.toMatchObject({
      code: "invalid_session",
    });
    await expect(stat(`${path}2`)).rejects.toThrow();
  });

  it("[JL31] a damaged file opens with a report, also of lines that come later, and strictly not at all", async () => {
    const { path, storage } = await openFile(`${headerLine}\ngarbage\n${a}\n`);
    expect(storage.report).toMatchObject({ entries: 1, lines: 3, skippedCount: 1 });
    await appendFile(path, `more garbage\n\n${b}\n`);
    await storage.refresh();
    expect(storage.report).toMatchObject({ entries: 2, lines: 6, skippedCount: 2 });
    expect(storage.report.skipped.map((note) => note.line)).toEqual([2, 4]);
    await expect(JsonlSessionStorage.open(path, { strict: true })).rejects.toMatchObject({ code: "invalid_entry" });
    await expect(JsonlSessionStorage.open(`${path}.missing`)).rejects.toMatchObject({ code: "not_found" });
  });

  it("[JL31] the leaf after opening is the effect of the last line", async () => {
    const leaf = '{"type":"leaf","id":"l","parentId":"b","timestamp":"t","targetId":"a"}';
    const { storage } = await openFile(`${headerLine}\n${a}\n${b}\n${leaf}\n`);
    expect(await storage.getLeafId()).toBe("a");
    const { storage: broken } = await openFile(`${headerLine}\n${leaf}\n`);
    await expect(broken.getLeafId()).rejects.toMatchObject({ code: "invalid_session" });
  });
});
