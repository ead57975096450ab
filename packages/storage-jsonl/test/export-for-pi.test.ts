import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { InMemorySessionStorage, type SessionEntry, type SessionStorage } from "@coppice/core";
import { describe, expect, it } from "vitest";
import { exportForPi, exportForPiAgentCore, JsonlSessionStorage } from "../src/index.ts";
import { fixturesFolder, messageLine, readAll } from "./helpers.ts";

const metadata = { id: "s1", createdAt: "2026-03-02T08:00:00.000Z", cwd: "/work" };

function makeStorage(...lines: string[]): InMemorySessionStorage {
  return new InMemorySessionStorage({ metadata, entries: lines.map((line) => JSON.parse(line)) });
}

function leafLine(id: string, parentId: string | null, targetId: string | null): string {
  return JSON.stringify({ type: "leaf", id, parentId, timestamp: "2026-03-02T08:00:02.000Z", targetId });
}

async function collect(lines: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const line of lines) text += line;
  return text;
}

/** How pi-coding-agent 1.6 takes a file: later ids win, the last line is the leaf, a missing parent ends the walk. */
async function readAsPi(text: string): Promise<{ branch: SessionEntry[]; entries: SessionEntry[] }> {
  const entries: SessionEntry[] = (await readAll(text, { strict: true })).jsons.map((json) => JSON.parse(json));
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const branch: SessionEntry[] = [];
  for (let entry = entries.at(-1); entry !== undefined; entry = byId.get(entry.parentId ?? "")) branch.unshift(entry);
  return { branch, entries };
}

/** How pi-agent-core 0.80 takes a file: leaf entries move the leaf. */
async function leafAsPiAgentCore(text: string): Promise<string | null> {
  const last = (await readAll(text, { strict: true })).jsons.at(-1);
  if (last === undefined) return null;
  const entry = JSON.parse(last);
  return entry.type === "leaf" ? entry.targetId : entry.id;
}

const isMarker = (entry: SessionEntry | undefined): boolean =>
  entry?.type === "custom" && entry.customType === "coppice/leaf";

const a = messageLine("a", null);
const b = messageLine("b", "a").replace("{", "{ ");
const c = messageLine("c", "a");
const header = '{"type":"session","version":3,"id":"s1","timestamp":"2026-03-02T08:00:00.000Z","cwd":"/work"}';

describe("for pi-coding-agent", () => {
  it("[JL50] a session whose leaf is its last entry comes out line by line as it is", async () => {
    const storage = new InMemorySessionStorage({ metadata });
    await storage.appendJson([a, b, c]);
    expect(await collect(exportForPi(storage))).toBe(`${[header, a, b, c].join("\n")}\n`);
  });

  it("[JL51] a leaf without children is moved to the end, and leaf entries are left out", async () => {
    const storage = new InMemorySessionStorage({ metadata });
    await storage.appendJson([a, b, c, leafLine("l", "c", "b")]);
    expect(await collect(exportForPi(storage))).toBe(`${[header, a, c, b].join("\n")}\n`);
    expect(await collect(exportForPi(storage, { leafId: "c" }))).toBe(`${[header, a, b, c].join("\n")}\n`);
  });

  it("[JL51] a leaf entry that another entry continues stays, so that no branch breaks off", async () => {
    const storage = makeStorage(
      a,
      leafLine("l1", "a", "a"),
      leafLine("l2", "l1", "a"),
      leafLine("l3", "a", "a"),
      messageLine("d", "l2"),
    );
    const { branch, entries } = await readAsPi(await collect(exportForPi(storage)));
    expect(branch.map(({ id }) => id)).toEqual(["a", "l1", "l2", "d"]);
    expect(entries).toHaveLength(4);
  });

  it("[JL52] a leaf that has children, and a leaf before the first entry, are held by one marker entry", async () => {
    const storage = makeStorage(a, b, c);
    for (const [leafId, path] of [
      ["a", ["a"]],
      [null, []],
    ] as const) {
      const text = await collect(exportForPi(storage, { leafId }));
      const { branch, entries } = await readAsPi(text);
      expect(isMarker(branch.pop())).toBe(true);
      expect(branch.map(({ id }) => id)).toEqual(path);
      expect(entries.slice(0, -1).map(({ id }) => id)).toEqual(["a", "b", "c"]);
      // The same state, the same bytes: no clock, no chance.
      expect(await collect(exportForPi(storage, { leafId }))).toBe(text);
    }
    const ids = await Promise.all(
      ["a", null].map(
        async (leafId) => (await readAsPi(await collect(exportForPi(storage, { leafId })))).entries.at(-1)?.id,
      ),
    );
    expect(new Set(ids).size).toBe(2);
  });

  it("[JL52] a label or name that is the leaf is not moved behind a later one", async () => {
    const label = (id: string, parentId: string, text: string): string =>
      JSON.stringify({ type: "label", id, parentId, timestamp: "t", targetId: "a", label: text });
    const name = (id: string, parentId: string, text: string): string =>
      JSON.stringify({ type: "session_info", id, parentId, timestamp: "t", name: text });
    const storage = makeStorage(
      a,
      label("l1", "a", "old"),
      label("l2", "a", "new"),
      name("n1", "a", "old"),
      name("n2", "a", "new"),
    );
    for (const leafId of ["l1", "n1"]) {
      const text = await collect(exportForPi(storage, { leafId }));
      const { branch, entries } = await readAsPi(text);
      expect(isMarker(branch.pop())).toBe(true);
      expect(branch.map(({ id }) => id)).toEqual(["a", leafId]);
      expect(entries.findLast((entry) => entry.type === "label")).toMatchObject({ label: "new" });
      expect(entries.findLast((entry) => entry.type === "session_info")).toMatchObject({ name: "new" });
    }
  });

  it("[JL53] the header has what pi asks for, from the session's metadata", async () => {
    const full = { ...metadata, parentSessionPath: "/old.jsonl", metadata: { n: 1 } };
    expect(await collect(exportForPi(new InMemorySessionStorage({ metadata: full })))).toBe(
      `${header.slice(0, -1)},"parentSession":"/old.jsonl","metadata":{"n":1}}\n`,
    );
    const bare = new InMemorySessionStorage({ metadata: { id: "s1", createdAt: metadata.createdAt } });
    expect(JSON.parse(await collect(exportForPi(bare)))).toMatchObject({ cwd: "/" });
    expect(JSON.parse(await collect(exportForPi(bare, { cwd: "/here" })))).toMatchObject({ cwd: "/here" });
  });
});

describe("headers that the storage keeps", () => {
  /** The first line of either export, and the text they were made from. */
  async function exportHeader(storage: SessionStorage, cwd: string): Promise<string> {
    const [header, other] = await Promise.all(
      [exportForPi(storage, { cwd }), exportForPiAgentCore(storage, { cwd })].map(async (lines) => {
        const [first] = (await collect(lines)).split("\n");
        return first;
      }),
    );
    expect(other).toBe(header);
    return header ?? "";
  }

  it("[JL53] fields that Coppice does not know go along, byte for byte", async () => {
    const path = join(fixturesFolder, "header-extra-fields.jsonl");
    const storage = await JsonlSessionStorage.open(path);
    const [header] = (await readFile(path, "utf8")).split("\n");
    expect(await exportHeader(storage, "/elsewhere")).toBe(header);
    expect(header).toContain('"gitBranch":"main"');
    await storage.close();
  });

  it("[JL53] a cwd that is missing, another version and line breaks are all that is changed", async () => {
    class StorageWithHeader extends InMemorySessionStorage {
      readonly #headerJson: string;
      constructor(headerJson: string, cwd: string) {
        super({ metadata: { ...metadata, cwd } });
        this.#headerJson = headerJson;
      }
      getHeaderJson(): string {
        return this.#headerJson;
      }
    }
    const extra = '"gitBranch":"main"}';
    const wanted = `${header.slice(0, -1)},${extra}`;
    const withoutCwd = wanted.replace("/work", "");
    expect(await exportHeader(new StorageWithHeader(withoutCwd, ""), "/work")).toBe(wanted);
    const older = wanted.replace('"version":3', '"version":2');
    const broken = wanted.replace(extra, `\n  ${extra}`);
    for (const text of [older, broken])
      expect(await exportHeader(new StorageWithHeader(text, "/work"), "/x")).toBe(wanted);
  });
});

describe("for pi-agent-core", () => {
  it("[JL54] every entry comes in log order, and a leaf entry only when the last one leads elsewhere", async () => {
    const lines = [a, b, leafLine("l", "b", "a"), c];
    const storage = new InMemorySessionStorage({ metadata });
    await storage.appendJson(lines);
    const whole = `${[header, ...lines].join("\n")}\n`;
    expect(await collect(exportForPiAgentCore(storage))).toBe(whole);
    for (const leafId of ["b", null]) {
      const text = await collect(exportForPiAgentCore(storage, { leafId }));
      expect(text.startsWith(whole)).toBe(true);
      expect(JSON.parse(text.slice(whole.length))).toMatchObject({ type: "leaf", parentId: "c", targetId: leafId });
      expect(await collect(exportForPiAgentCore(storage, { leafId }))).toBe(text);
    }
    expect(await collect(exportForPiAgentCore(new InMemorySessionStorage({ metadata })))).toBe(`${header}\n`);
  });
});

it("[JL50] [JL54] every fixture opens at every one of its entries with the branch it has here", async () => {
  let exports = 0;
  for (const name of (await readdir(fixturesFolder)).filter((file) => file.endsWith(".jsonl"))) {
    const expected = JSON.parse(await readFile(join(fixturesFolder, "expected.json"), "utf8"))[name];
    if (expected.refused !== undefined) continue;
    const storage = await JsonlSessionStorage.open(join(fixturesFolder, name));
    for (const leafId of [null, ...(await storage.getEntries()).map((entry) => entry.id)]) {
      const path = await pathIds(storage, leafId);
      if (path === undefined) continue;
      const { branch } = await readAsPi(await collect(exportForPi(storage, { leafId })));
      if (isMarker(branch.at(-1)) && branch.at(-1)?.id !== leafId) branch.pop();
      expect(
        branch.map(({ id }) => id),
        `${name} at ${leafId}`,
      ).toEqual(path);
      expect(await leafAsPiAgentCore(await collect(exportForPiAgentCore(storage, { leafId })))).toBe(leafId);
      exports++;
    }
    await storage.close();
  }
  expect(exports).toBeGreaterThan(200);
});

it("[JL50] [JL54] an unknown leaf is refused", async () => {
  const storage = makeStorage(a);
  for (const lines of [exportForPi(storage, { leafId: "x" }), exportForPiAgentCore(storage, { leafId: "x" })]) {
    await expect(collect(lines)).rejects.toMatchObject({ code: "not_found" });
  }
});

/** The ids of a branch; undefined for one that does not reach a root, which pi shows as far as it goes. */
async function pathIds(storage: SessionStorage, leafId: string | null): Promise<string[] | undefined> {
  const path = await storage.getPathToRoot(leafId).catch(() => undefined);
  return path?.map((entry) => entry.id);
}
