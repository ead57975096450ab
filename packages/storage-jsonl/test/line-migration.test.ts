import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { headerLine, readAll } from "./helpers.ts";

const oldHeader = headerLine.replace('"version":3,', "").replace("}", ',"modelId":"older"}');
const time = '"timestamp":"2025-11-02T08:00:00.000Z"';
const user = `{"type":"message",${time},"message":{"role":"user","content":"caf\\u00e9","n":1.0}}`;
const compaction = (index: number): string =>
  `{"type":"compaction",${time},"summary":"s","firstKeptEntryIndex":${index},"tokensBefore":9}`;

async function readOld(...lines: string[]): Promise<{ jsons: string[]; entries: Record<string, unknown>[] }> {
  const { jsons } = await readAll(`${[oldHeader, ...lines].join("\n")}\n`);
  return { jsons, entries: jsons.map((json) => JSON.parse(json)) };
}

it("[JL12] the id of an old entry is the hash that the rule says", async () => {
  const { entries } = await readOld(user, user);
  const expected = [1, 2].map((position) => {
    const hash = createHash("sha256").update(`coppice/entry-id/1\ns1\n${position}\n${user}`).digest("hex");
    return hash.slice(0, 12);
  });
  expect(entries.map((entry) => String(entry.id).replaceAll("-", "").slice(0, 12))).toEqual(expected);
  for (const { id } of entries)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  // Golden: a change here gives every migrated file a new tree.
  expect(entries[0]?.id).toMatchInlineSnapshot(`"87e7328e-7af1-8c67-9711-8a76102a08ea"`);
});

it("[JL12] copies that differ in line breaks, blank lines and a torn end migrate to the same bytes", async () => {
  const lines = [oldHeader, user, compaction(1), user];
  const plain = await readAll(`${lines.join("\n")}\n`);
  const other = await readAll(`\ufeff${lines.join("\r\n\r\n")}\r\n{"type":"mess`);
  expect(plain.jsons).toHaveLength(3);
  expect(other.jsons).toEqual(plain.jsons);
  expect(other.headerJson).toBe(plain.headerJson);
});

it("[JL12] another session with the same lines gets other ids", async () => {
  const lines = `${user}\n${user}\n`;
  const first = await readAll(`${oldHeader}\n${lines}`);
  const second = await readAll(`${oldHeader.replace('"s1"', '"s2"')}\n${lines}`);
  expect(new Set([...first.ids, ...second.ids]).size).toBe(4);
});

it("[JL13] each entry continues the one before, past lines that were skipped", async () => {
  const { entries } = await readOld(user, "torn", '{"type":"message"}', "42", user, user);
  expect(entries).toHaveLength(3);
  expect(entries.map((entry) => entry.parentId)).toEqual([null, entries[0]?.id, entries[1]?.id]);
});

it("[JL13] firstKeptEntryIndex counts the lines that parse, from the header as 0", async () => {
  const { entries } = await readOld(
    user,
    "torn",
    user,
    '"parses but is no entry"',
    user,
    compaction(2),
    compaction(5),
    compaction(7),
  );
  const ids = entries.map((entry) => entry.id);
  expect(entries[3]).toMatchObject({ firstKeptEntryId: ids[1], tokensBefore: 9 });
  expect(entries[4]).toMatchObject({ firstKeptEntryId: ids[3] });
  // Its own position: nothing before it is kept, as pi writes it.
  expect(entries[5]).toMatchObject({ firstKeptEntryId: ids[5] });
  for (const entry of entries) expect(entry).not.toHaveProperty("firstKeptEntryIndex");
});

it("[JL13] a position where no kept entry stands is dropped", async () => {
  const { entries } = await readOld(user, "42", compaction(2), compaction(99), compaction(0), compaction(-1));
  expect(entries).toHaveLength(5);
  for (const entry of entries) expect(Object.keys(entry).filter((key) => key.startsWith("firstKept"))).toEqual([]);
});

it("[JL14] a text that only gains ids keeps its other bytes between the braces", async () => {
  const { jsons, entries } = await readOld(` ${user} `);
  expect(jsons[0]).toBe(`${user.slice(0, -1)},"id":"${entries[0]?.id}","parentId":null}`);
});

it("[JL14] ids of an old file's own are replaced, as its parents mean nothing", async () => {
  const { entries } = await readOld(user.replace("{", '{"id":"mine","parentId":"else",'), user);
  expect(entries[0]).toMatchObject({ parentId: null, id: expect.stringMatching(/^.{36}$/) });
  expect(entries[1]).toMatchObject({ parentId: entries[0]?.id });
});

it("[JL14] formats 1 and 2 lose the role hookMessage and gain version 3", async () => {
  const hook = `{"type":"message",${time},"id":"h","parentId":null,"message":{"role":"hookMessage","content":"hi"}}`;
  const exact = `{ "type":"message",${time},"id":"x","parentId":"h","message":{"role":"user","n":1.0}}`;
  for (const version of ["", '"version":1,', '"version":2,']) {
    const { headerJson, jsons, report } = await readAll(
      `${headerLine.replace('"version":3,', version).replace("}", ',"modelId":"older"}')}\n${hook}\n${exact}\n`,
    );
    expect(JSON.parse(headerJson)).toMatchObject({ version: 3, id: "s1", modelId: "older" });
    expect(report.fileVersion).toBe(version.includes("2") ? 2 : 1);
    expect(JSON.parse(jsons[0] ?? "").message).toEqual({ role: "custom", content: "hi" });
    if (version.includes("2")) expect(jsons[1]).toBe(exact);
  }
});

it("[JL14] format 3 is read as it stands, old roles included", async () => {
  const hook = `{"type":"message",${time},"id":"h","parentId":null,"message":{"role":"hookMessage"}}`;
  expect((await readAll(`${headerLine}\n${hook}\n`)).jsons).toEqual([hook]);
});
