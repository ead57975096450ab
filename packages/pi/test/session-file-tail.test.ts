import { appendFile, mkdtemp, rename, rm, truncate, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { SessionFileTail } from "../src/session-file-tail.ts";

let folder: string;
let path: string;
let tail: SessionFileTail;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "coppice-tail-"));
  path = join(folder, "session.jsonl");
  tail = new SessionFileTail(path);
});
afterEach(() => rm(folder, { recursive: true }));

const header = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n`;
const line = (id: string, data = id): string =>
  `{"type":"custom","customType":"t","id":"${id}","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","data":"${data}"}\n`;

async function readIds(): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id, json } of tail.readNew()) {
    expect(JSON.parse(json).id).toBe(id);
    ids.push(id);
  }
  return ids;
}

it("[EX22] gives each line once it is whole, with its exact text, and nothing while there is no file or no header", async () => {
  expect(await readIds()).toEqual([]);
  await writeFile(path, header.slice(0, 20));
  expect(await readIds()).toEqual([]);
  await appendFile(path, header.slice(20));
  expect(await readIds()).toEqual([]);
  expect(tail.headerJson).toBe(header.trim());
  await appendFile(path, line("a") + line("b").slice(0, 30));
  expect(await readIds()).toEqual(["a"]);
  await appendFile(path, line("b").slice(30) + line("c"));
  expect(await readIds()).toEqual(["b", "c"]);
  expect(await readIds()).toEqual([]);
});

it("[EX22] reads more than one chunk, and goes on where whoever read it stopped", async () => {
  const ids = Array.from({ length: 300 }, (_, at) => `id-${at}`);
  await writeFile(path, header + ids.map((id) => line(id, "x".repeat(4_000))).join(""));
  for await (const { id } of tail.readNew()) if (id === "id-99") break;
  expect(await readIds()).toEqual(ids.slice(100));
});

it("[EX22] reads a file from the start again that was replaced, cut, or written anew in place", async () => {
  await writeFile(path, header + line("a") + line("b"));
  expect(await readIds()).toEqual(["a", "b"]);

  await writeFile(`${path}.new`, header + line("a") + line("c"));
  await rename(`${path}.new`, path);
  expect(await readIds()).toEqual(["a", "c"]);

  await truncate(path, header.length);
  expect(await readIds()).toEqual([]);
  await appendFile(path, line("d"));
  expect(await readIds()).toEqual(["d"]);

  await writeFile(path, header + line("e") + line("f") + line("g"));
  expect(await readIds()).toEqual(["e", "f", "g"]);

  await unlink(path);
  expect(await readIds()).toEqual([]);
  await writeFile(path, header + line("h"));
  expect(await readIds()).toEqual(["h"]);
});

it("[EX22] passes over what is no entry, and waits for a header as long as there is none", async () => {
  await writeFile(path, `${header}{"torn\n${line("a")}`);
  expect(await readIds()).toEqual(["a"]);
  await writeFile(path, "not a session\n");
  expect(await readIds()).toEqual([]);
  expect(tail.headerJson).toBeUndefined();
  await writeFile(path, header + line("b"));
  expect(await readIds()).toEqual(["b"]);
});
