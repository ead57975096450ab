import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SessionError } from "@coppice/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toFileError } from "../src/file-errors.ts";
import { readSessionFile } from "../src/index.ts";
import { headerLine, makeTempFolder, messageLine, readAll, toChunks, withoutPrivileges } from "./helpers.ts";

const a = messageLine("a", null);
const b = messageLine("b", "a");

describe("lines", () => {
  it("[JL1] U+2028, U+2029, U+0085 and a lone carriage return do not end a line", async () => {
    const odd = messageLine("odd", null, "x\u2028y\u2029z\u0085");
    const withReturn = odd.replace(',"id"', ',\r"id"');
    const { jsons, lines, report } = await readAll(`${headerLine}\n${odd}\n${withReturn}\n${b}\n`);
    expect(jsons).toEqual([odd, odd.replace(',"id"', ', "id"'), b]);
    expect(lines).toEqual([2, 3, 4]);
    expect(report.repaired).toEqual([{ line: 3, reason: expect.stringContaining("carriage return") }]);
  });

  it("[JL1] chunks of any size give the same lines", async () => {
    const content = `\ufeff${headerLine}\r\n\r\n${messageLine("ü", null, "🌳 \u2028")}\r\n{"torn\n${b}`;
    const whole = await readAll(content);
    expect(whole.ids).toEqual(["ü", "b"]);
    for (let chunkBytes = 1; chunkBytes < 40; chunkBytes++) {
      expect(await readAll(toChunks(content, chunkBytes))).toEqual(whole);
    }
  });

  it("[JL2] an entry's text is its line's, with the key order, spaces and number forms of its writer", async () => {
    const odd =
      ' { "id" : "x",\t"n":1.0e2, "n":12345678901234567890, "parentId":null,"timestamp":"t","type":"\\u0061" } ';
    const { jsons } = await readAll(`${headerLine}\n${odd}\r\n`);
    expect(jsons).toEqual([odd]);
  });

  it("[JL2] the texts can be had alone, and breaking off closes the input", async () => {
    let isClosed = false;
    async function* input(): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from(`${headerLine}\n${a}\n`);
        yield Buffer.from(`${b}\n`);
      } finally {
        isClosed = true;
      }
    }
    const texts: string[] = [];
    for await (const text of (await readSessionFile(input())).lines) texts.push(text);
    expect(texts).toEqual([a, b]);
    isClosed = false;
    for await (const _ of (await readSessionFile(input())).lines) break;
    expect(isClosed).toBe(true);
  });

  it("[JL2] [JL4] [JL5] what is written between garbage, blank lines and any line breaks comes back exactly", async () => {
    const text = fc.string({ unit: "binary", maxLength: 60 });
    const piece = fc.oneof(
      text.map((content) => ({ isEntry: true, line: content })),
      fc.constantFrom("", "  ", "\t").map((line) => ({ isEntry: false, line })),
      fc
        .constantFrom("{", "[1]", "null", "\u0000", '{"type":"message"}', "12")
        .map((line) => ({ isEntry: false, line })),
    );
    const lineBreak = fc.constantFrom("\n", "\r\n");
    let entryCount = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(piece, lineBreak), { maxLength: 12 }),
        fc.integer({ min: 1, max: 300 }),
        fc.boolean(),
        async (pieces, chunkBytes, isTerminated) => {
          const expected: string[] = [];
          let content = `${headerLine}\n`;
          for (const [index, [{ isEntry, line }, end]] of pieces.entries()) {
            const json = isEntry ? messageLine(`e${index}`, null, line) : line;
            if (isEntry) expected.push(json);
            content += json + (index < pieces.length - 1 || isTerminated ? end : "");
          }
          const { jsons } = await readAll(toChunks(content, chunkBytes));
          expect(jsons).toEqual(expected);
          entryCount += expected.length;
        },
      ),
    );
    expect(entryCount).toBeGreaterThan(0);
  });

  it("[JL3] a byte order mark is passed over and reported, and is content anywhere else", async () => {
    const { headerJson, ids, report } = await readAll(
      `\ufeff${headerLine}\n\ufeff${a}\n${messageLine("c", null, "\ufeff")}\n`,
    );
    expect(headerJson).toBe(headerLine);
    expect(ids).toEqual(["c"]);
    expect(report.hasByteOrderMark).toBe(true);
    expect(report.repaired.map((note) => note.line)).toEqual([1]);
    expect(report.skipped.map((note) => note.line)).toEqual([2]);
    expect((await readAll(`${headerLine}\n`)).report.hasByteOrderMark).toBe(false);
  });

  it("[JL4] blank lines are passed over in silence but counted", async () => {
    const { ids, lines, report } = await readAll(`\n \t\n${headerLine}\n\n${a}\n\r\n${b}\n\n`);
    expect(ids).toEqual(["a", "b"]);
    expect(lines).toEqual([5, 7]);
    expect(report).toMatchObject({ lines: 8, entries: 2, skipped: [], repaired: [], hasFinalNewline: true });
  });

  it("[JL4] a last line without line break is read", async () => {
    const { ids, report } = await readAll(`${headerLine}\n${a}`);
    expect(ids).toEqual(["a"]);
    expect(report.hasFinalNewline).toBe(false);
  });

  it.each([
    ["no JSON", "nonsense", /^not JSON/],
    ["no object", "[]", "expected an object, found an array"],
    ["no id", '{"type":"message","parentId":null,"timestamp":"t"}', "id: expected a non-empty string, found nothing"],
    [
      "a number as parent",
      '{"type":"message","id":"x","parentId":1,"timestamp":"t"}',
      "parentId: expected a string or null, found a number",
    ],
    ["a leaf entry without target", '{"type":"leaf","id":"x","parentId":null,"timestamp":"t"}', /^targetId: /],
    [
      "another header",
      '{"type":"session","id":"x","parentId":null,"timestamp":"t"}',
      "type: expected an entry, found another session header",
    ],
  ])("[JL5] a line that holds %s is skipped and reported, the rest is read", async (_, bad, reason) => {
    const { ids, report } = await readAll(`${headerLine}\n${a}\n${bad}\n${b}\n`);
    expect(ids).toEqual(["a", "b"]);
    expect(report.skippedCount).toBe(1);
    expect(report.skipped).toEqual([
      { line: 3, reason: reason instanceof RegExp ? expect.stringMatching(reason) : reason },
    ]);
  });

  it("[JL19] an entry whose payload is not what its type asks for is kept, and listed apart from skipped lines", async () => {
    const bad = '{"type":"message","id":"x","parentId":"a","timestamp":"t","message":{"content":"who says so?"}}';
    const below = messageLine("c", "x");
    const { jsons, report } = await readAll([headerLine, a, bad, "garbage", below, ""].join("\n"));
    expect(jsons).toEqual([a, bad, below]);
    expect(report.skipped.map((note) => note.line)).toEqual([4]);
    expect(report.faulty).toEqual([{ line: 3, reason: "message.role: expected a string, found nothing" }]);
    expect(report.faultyCount).toBe(1);
  });

  it("[JL5] a file cut off at any byte gives the entries that are whole", async () => {
    const bytes = Buffer.from(`${headerLine}\n${messageLine("ä", null, "🌳")}\n${messageLine("b", "ä", "ö\\")}`);
    const ends = [bytes.indexOf("\n"), bytes.lastIndexOf("\n"), bytes.length];
    for (let length = headerLine.length; length <= bytes.length; length++) {
      const { ids, report } = await readAll(bytes.subarray(0, length));
      const whole = ends.filter((end) => length >= end).length - 1;
      expect(ids).toEqual(["ä", "b"].slice(0, whole));
      const isTorn = !ends.includes(length) && !ends.includes(length - 1);
      expect(report.skipped).toEqual(
        isTorn ? [{ line: whole + 2, reason: "the file ends in the middle of the line" }] : [],
      );
    }
  });

  it("[JL11] bytes that are not UTF-8 are replaced and reported, so that the entries below stay attached", async () => {
    const bytes = Buffer.from(`${headerLine}\n${a.replace("hello", "he~lo")}\n${b}\n`);
    bytes[bytes.indexOf("~")] = 0xff;
    const { ids, jsons, report } = await readAll(bytes);
    expect(ids).toEqual(["a", "b"]);
    expect(jsons[0]).toContain("he\ufffdlo");
    expect(report.repaired).toEqual([{ line: 2, reason: expect.stringContaining("UTF-8") }]);
  });

  it("[JL11] a line above the limit is skipped, and one at the limit is read", async () => {
    const long = messageLine("long", null, "x".repeat(200));
    const maxLineBytes = long.length;
    const { ids, report } = await readAll(toChunks(`${headerLine}\n${long} \n${long}\n${b}`, 7), { maxLineBytes });
    expect(ids).toEqual(["long", "b"]);
    expect(report.skipped).toEqual([
      { line: 2, reason: `is ${maxLineBytes + 1} bytes long, expected at most ${maxLineBytes}` },
    ]);
  });

  it("[JL11] a file of garbage is counted to its end and listed up to a thousand", async () => {
    const { report } = await readAll(`${headerLine}\n${"garbage\n".repeat(2500)}`);
    expect(report.skippedCount).toBe(2500);
    expect(report.skipped).toHaveLength(1000);
  });

  it("[JL11] a hundred megabytes are read with a few in memory", async () => {
    const entryCount = 50_000;
    async function* write(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`${headerLine}\n`);
      for (let index = 0; index < entryCount; index++) {
        yield Buffer.from(`${messageLine(`e${index}`, null, "x".repeat(2000))}\n`);
      }
    }
    const startBytes = process.memoryUsage().rss;
    let peakBytes = 0;
    let entries = 0;
    for await (const _ of await readSessionFile(write())) {
      entries++;
      if (entries % 1000 === 0) peakBytes = Math.max(peakBytes, process.memoryUsage().rss);
    }
    expect(entries).toBe(entryCount);
    // Generous, for the garbage collector takes its time; holding the texts alone would take 100 MB twice over.
    expect(peakBytes - startBytes).toBeLessThan(80e6);
  });

  it("[JL11] the input is closed when the iteration breaks, when it fails and by close()", async () => {
    let closed = 0;
    async function* input(second: string): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from(`${headerLine}\n${second}\n`);
        yield Buffer.from(`${b}\n`);
      } finally {
        closed++;
      }
    }
    for await (const _ of await readSessionFile(input(a))) break;
    expect(closed).toBe(1);
    await expect(readAll(input("bad"), { strict: true })).rejects.toThrow(SessionError);
    expect(closed).toBe(2);
    const file = await readSessionFile(input(a));
    await file.close();
    await file.close();
    expect(closed).toBe(3);
    await expect(readSessionFile(toChunks("no session"))).rejects.toThrow(SessionError);
  });
});

describe("header", () => {
  it("[JL6] the header's exact text keeps the fields Coppice does not know", async () => {
    const odd = headerLine.replace('"type"', ' "gitBranch" : "main", "type"');
    const file = await readSessionFile(toChunks(`${odd}\n`));
    expect(file.headerJson).toBe(odd);
    expect(file.header).toMatchObject({ type: "session", version: 3, id: "s1", cwd: "/work" });
    await file.close();
  });

  it("[JL6] damaged lines may stand before the header, but not many", async () => {
    const { ids, report } = await readAll(`${"damaged\n".repeat(16)}${headerLine}\n${a}\n`);
    expect(ids).toEqual(["a"]);
    expect(report.skippedCount).toBe(16);
    await expect(readAll(`${"damaged\n".repeat(17)}${headerLine}\n`)).rejects.toMatchObject({
      code: "invalid_session",
    });
  });

  it.each([
    ["an entry", a],
    ["a log line", '{"level":30,"msg":"ready"}'],
    ["a header without id", '{"type":"session","version":3,"timestamp":"t","cwd":"/"}'],
    ["a header with an empty id", '{"type":"session","version":3,"id":"","timestamp":"t","cwd":"/"}'],
    ["a header with a version in words", '{"type":"session","version":"3","id":"s","timestamp":"t","cwd":"/"}'],
  ])("[JL7] a first object that is %s is no session", async (_, first) => {
    await expect(readAll(`${first}\n${b}\n`)).rejects.toMatchObject({ code: "invalid_session" });
  });

  it("[JL7] other faults of the header are repaired, alike on every device, and reported", async () => {
    const file = await readSessionFile(
      toChunks('{"type":"session","version":3,"id":"s","cwd":5,"parentSession":{},"metadata":[],"extra":1}\n'),
    );
    expect(file.headerJson).toBe(
      '{"type":"session","version":3,"id":"s","cwd":"","extra":1,"timestamp":"1970-01-01T00:00:00.000Z"}',
    );
    expect(file.header).toEqual({
      type: "session",
      version: 3,
      id: "s",
      cwd: "",
      timestamp: "1970-01-01T00:00:00.000Z",
    });
    expect(file.report.repaired).toHaveLength(4);
    await file.close();
  });

  it("[JL9] a newer format is refused by name, lenient or not", async () => {
    const newer = [
      headerLine.replace('"version":3', '"version":4'),
      '{"v":4,"kind":"header","id":"s","storageVersion":1,"createdAt":1772438400000,"cwd":"/"}',
    ];
    for (const first of newer) {
      for (const strict of [false, true]) {
        const reading = readAll(`${first}\n`, { strict, name: "new.jsonl" });
        await expect(reading).rejects.toMatchObject({ code: "version_mismatch" });
        await expect(reading).rejects.toThrow(
          /^new\.jsonl is written in session format 4 and this Coppice reads .*update/,
        );
      }
    }
  });
});

describe("strict", () => {
  it.each([
    ["a byte order mark", `\ufeff${headerLine}\n`, "invalid_session", /^f line 1: .*byte order mark/],
    ["a damaged line before the header", `damaged\n${headerLine}\n`, "invalid_session", /^f line 1: not JSON/],
    [
      "a header without timestamp",
      '{"type":"session","version":3,"id":"s"}\n',
      "invalid_session",
      /^f line 1: timestamp: expected a non-empty string, found nothing/,
    ],
    ["garbage", `${headerLine}\n\n${a}\ngarbage\n`, "invalid_entry", /^f line 4: not JSON/],
    [
      "a missing field",
      `${headerLine}\n{"type":"message","id":"x","parentId":null}\n`,
      "invalid_entry",
      /^f line 2: timestamp: expected a non-empty string, found nothing; repair/,
    ],
    ["a torn last line", `${headerLine}\n${a}\n{"type":`, "invalid_entry", /^f line 3: the file ends in the middle/],
    [
      "an entry whose payload is not what its type asks for",
      `${headerLine}\n\n{"type":"model_change","id":"m","parentId":null,"timestamp":"t","provider":7,"modelId":"m"}\n`,
      "invalid_entry",
      "f line 3: provider: expected a string, found a number",
    ],
  ])("[JL8] refuses %s", async (_, content, code, message) => {
    const reading = readAll(content, { strict: true, name: "f" });
    await expect(reading).rejects.toMatchObject({ code });
    await expect(reading).rejects.toThrow(message);
  });

  it("[JL8] takes what pi-agent-core takes: CRLF, blank lines, no final newline, unknown types", async () => {
    const unknown = '{"type":"hologram","id":"h","parentId":"a","timestamp":"t","beam":1}';
    const { ids } = await readAll(`${headerLine}\r\n\r\n${a}\r\n${unknown}`, { strict: true });
    expect(ids).toEqual(["a", "h"]);
  });
});

describe("paths", () => {
  it("[JL10] a wrong path, a folder, an empty file and another file each get a sentence of their own", async () => {
    const folder = await makeTempFolder();
    await mkdir(join(folder, "folder.jsonl"));
    await writeFile(join(folder, "empty.jsonl"), "");
    await writeFile(join(folder, "photo.jsonl"), Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0x0a, 0x00]));
    const messages: Record<string, string> = {};
    for (const name of ["missing.jsonl", "folder.jsonl", "empty.jsonl", "photo.jsonl", "empty.jsonl/below"]) {
      const error = await readSessionFile(join(folder, name)).catch((reason: unknown) => reason);
      if (!(error instanceof SessionError)) throw error;
      messages[name] = `${error.code}: ${error.message.replaceAll(folder, "")}`;
    }
    expect(messages).toMatchInlineSnapshot(`
      {
        "empty.jsonl": "invalid_session: /empty.jsonl is empty, so it holds no session; bring it back from another copy, or remove it.",
        "empty.jsonl/below": "not_found: /empty.jsonl/below does not exist, as a part of the path is no folder; check the path.",
        "folder.jsonl": "invalid_session: /folder.jsonl is a folder, not a session file; name a .jsonl file in it.",
        "missing.jsonl": "not_found: /missing.jsonl does not exist; check the path.",
        "photo.jsonl": "invalid_session: /photo.jsonl is no session file: no JSON object was found at its beginning; choose a file whose first line begins with {"type":"session", or bring that line back.",
      }
    `);
  });

  it("[JL10] a file that may not be read says so", async () => {
    const folder = await makeTempFolder();
    const path = join(folder, "secret.jsonl");
    await writeFile(path, `${headerLine}\n`, { mode: 0o600 });
    await chmod(folder, 0o755);
    await chmod(path, 0o000);
    await withoutPrivileges(() =>
      expect(readSessionFile(path)).rejects.toMatchObject({ code: "storage", message: expect.stringContaining(path) }),
    );
  });

  it.each([
    [
      "ENOSPC",
      "storage_full",
      "/s.jsonl cannot grow: the disk, a quota or a size limit is reached; make room and try again.",
    ],
    ["EDQUOT", "storage_full", /cannot grow/],
    ["EROFS", "storage", "/s.jsonl is on a read-only file system; choose another place."],
    ["EMFILE", "storage", /too many files are open/],
    ["EIO", "storage", "/s.jsonl could not be used (EIO: broken); try again."],
  ])("[JL10] the system's error %s becomes a sentence with the code %s", (errno, code, message) => {
    const cause = Object.assign(new Error(`${errno}: broken`), { code: errno });
    const error = toFileError(cause, "/s.jsonl");
    expect(error).toMatchObject({ code, cause });
    expect(error.message).toMatch(message);
    expect(toFileError(error, "/other")).toBe(error);
  });

  it("[JL10] a file is read to its end and its name stands in messages", async () => {
    const path = join(await makeTempFolder(), "s.jsonl");
    await writeFile(path, `${headerLine}\n${a}\n${b}\nbad\n`);
    const ids: string[] = [];
    for await (const { entry } of await readSessionFile(path)) ids.push(entry.id);
    expect(ids).toEqual(["a", "b"]);
    const readStrictly = async (): Promise<void> => {
      for await (const _ of await readSessionFile(path, { strict: true }));
    };
    await expect(readStrictly()).rejects.toThrow(`${path} line 4: `);
  });
});
