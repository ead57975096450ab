import { describe, expect, it } from "vitest";
import { InMemorySessionStorage, LineMatcher } from "../src/index.ts";

/** As Coppice reads three entries of a file of format 1: its id is derived from the file. */
const derived = [
  '{"type":"message","timestamp":"2026-03-02T08:00:01.000Z","message":{"role":"user","content":"ein"},"id":"0a0a0a0a-0a0a-8a0a-8a0a-0a0a0a0a0a01","parentId":null}',
  '{"type":"message","timestamp":"2026-03-02T08:00:02.000Z","message":{"role":"custom","content":"zwei"},"id":"0a0a0a0a-0a0a-8a0a-8a0a-0a0a0a0a0a02","parentId":"0a0a0a0a-0a0a-8a0a-8a0a-0a0a0a0a0a01"}',
  '{"type":"compaction","timestamp":"2026-03-02T08:00:03.000Z","summary":"s","tokensBefore":7,"firstKeptEntryId":"0a0a0a0a-0a0a-8a0a-8a0a-0a0a0a0a0a02","id":"0a0a0a0a-0a0a-8a0a-8a0a-0a0a0a0a0a03","parentId":"0a0a0a0a-0a0a-8a0a-8a0a-0a0a0a0a0a02"}',
] as const;
/** The same after pi has migrated the file. */
const migrated = [
  '{"type":"message","timestamp":"2026-03-02T08:00:01.000Z","message":{"role":"user","content":"ein"},"id":"aaaaaa01","parentId":null}',
  '{"type":"message","timestamp":"2026-03-02T08:00:02.000Z","message":{"role":"custom","content":"zwei"},"id":"aaaaaa02","parentId":"aaaaaa01"}',
  '{"type":"compaction","timestamp":"2026-03-02T08:00:03.000Z","summary":"s","tokensBefore":7,"id":"aaaaaa03","parentId":"aaaaaa02","firstKeptEntryId":"aaaaaa02"}',
] as const;

async function store(lines: readonly string[]): Promise<InMemorySessionStorage> {
  const storage = new InMemorySessionStorage({ metadata: { id: "s", createdAt: "2026-03-02T08:00:00.000Z" } });
  await storage.appendJson(lines);
  return storage;
}

async function matchAll(storage: InMemorySessionStorage, lines: readonly string[]) {
  const matcher = new LineMatcher(storage);
  const texts: string[] = [];
  for (const line of lines) texts.push(await matcher.match(line));
  return { matcher, texts };
}

describe("LineMatcher", () => {
  it.each([
    ["derived ids first", derived, migrated],
    ["pi's ids first", migrated, derived],
  ])("[WS79] %s: the other copy is found to be the same", async (_, first, second) => {
    const { matcher, texts } = await matchAll(await store(first), second);
    expect(texts).toEqual(first);
    expect(matcher.count).toBe(3);
  });

  it("[WS81] what follows is given with the stored ids, and everything else in it stays", async () => {
    const after = [
      '{"type":"label","id":"bbbbbb01","parentId":"aaaaaa03","timestamp":"t","targetId":"aaaaaa02","label":"aaaaaa02"}',
      '{"type":"custom","id":"bbbbbb02","parentId":"bbbbbb01","timestamp":"t","customType":"x","data":1.0}',
      '{"type":"branch_summary","id":"bbbbbb03","parentId":"bbbbbb02","timestamp":"t","fromId":"aaaaaa01","summary":"aaaaaa01"}',
    ] as const;
    const { texts } = await matchAll(await store(derived), [...migrated, ...after]);
    expect(texts.slice(3)).toEqual([
      '{"type":"label","id":"bbbbbb01","parentId":"0a0a0a0a-0a0a-8a0a-8a0a-0a0a0a0a0a03","timestamp":"t","targetId":"0a0a0a0a-0a0a-8a0a-8a0a-0a0a0a0a0a02","label":"aaaaaa02"}',
      after[1],
      '{"type":"branch_summary","id":"bbbbbb03","parentId":"bbbbbb02","timestamp":"t","fromId":"0a0a0a0a-0a0a-8a0a-8a0a-0a0a0a0a0a01","summary":"aaaaaa01"}',
    ]);
  });

  it("[WS82] each id is given as the other copy has it", async () => {
    const { matcher } = await matchAll(await store(derived), migrated);
    expect(matcher.storedId("aaaaaa02")).toBe("0a0a0a0a-0a0a-8a0a-8a0a-0a0a0a0a0a02");
    expect(matcher.lineId("0a0a0a0a-0a0a-8a0a-8a0a-0a0a0a0a0a02")).toBe("aaaaaa02");
    expect([matcher.storedId("other"), matcher.lineId("other")]).toEqual(["other", "other"]);
  });

  it("[WS80] entries whose ids are both random are two, however alike they are", async () => {
    const copy = migrated.map((line) => line.replaceAll("aaaaaa", "cccccc"));
    const { matcher, texts } = await matchAll(await store(migrated), copy);
    expect(texts).toEqual(copy);
    expect(matcher.count).toBe(0);
  });

  it("[WS80] an entry of another content is another one, and so is what follows it", async () => {
    const changed = [migrated[0], migrated[1].replace("zwei", "drei"), migrated[2]];
    const { matcher, texts } = await matchAll(await store(derived), changed);
    expect(matcher.count).toBe(1);
    expect(texts[2]).toBe(migrated[2]);
    expect(JSON.parse(texts[1] ?? "")).toMatchObject({
      id: "aaaaaa02",
      parentId: "0a0a0a0a-0a0a-8a0a-8a0a-0a0a0a0a0a01",
    });
  });

  it("[WS80] twice the same entry in a list is found in its order", async () => {
    const again = (id: string, parentId: string | null) =>
      JSON.stringify({ type: "message", timestamp: "t", message: { role: "user", content: "again" }, id, parentId });
    const stored = [
      again("d1d1d1d1-0000-8000-8000-000000000001", null),
      again("d1d1d1d1-0000-8000-8000-000000000002", "d1d1d1d1-0000-8000-8000-000000000001"),
    ];
    const { texts } = await matchAll(await store(stored), [again("1", null), again("2", "1")]);
    expect(texts).toEqual(stored);
  });

  it("[WS80] an entry whose parent was no entry is found below the one before", async () => {
    const lines = [
      migrated[0],
      '{"type":"message","id":"broken"}',
      migrated[1].replace('"parentId":"aaaaaa01"', '"parentId":"broken"'),
    ];
    const { texts } = await matchAll(await store(derived), lines);
    expect(texts).toEqual([derived[0], lines[1], derived[1]]);
  });

  it("[WS81] nothing is read of a session for lines that are no root", async () => {
    const storage = await store(derived);
    const matcher = new LineMatcher({
      getEntry: () => Promise.reject(new Error("read")),
      getEntryJson: () => Promise.reject(new Error("read")),
      getChildren: () => Promise.reject(new Error("read")),
    });
    await storage.close();
    expect(await matcher.match(migrated[1])).toBe(migrated[1]);
    expect(await matcher.match("no JSON")).toBe("no JSON");
  });
});
