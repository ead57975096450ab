import { createCipheriv } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { storeFolderOf } from "@coppice/home";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { beforeAll, describe, expect, it } from "vitest";
import { assistantEntry, modelEntry, userEntry } from "./support/make-entries.ts";
import { makeDevice, makeTempFolder, requireFreshBuild, type TestDevice } from "./support/run-coppice.ts";
import { sampleFile, shortSession, shortSessionId, writeSessionFile } from "./support/session-files.ts";

beforeAll(requireFreshBuild);

describe("import", () => {
  it("[CP30, CP32, CP55] brings every entry in byte for byte, once", async () => {
    const device = await makeDevice("laptop");
    const lines = (await readFile(sampleFile, "utf8")).trimEnd().split("\n").slice(1);
    const first = await device.runJson(["import", sampleFile]);
    expect(first).toEqual({
      coppice: "import",
      version: 1,
      files: [
        {
          file: sampleFile,
          session: { id: expect.any(String), name: "Fix the flaky login test" },
          written: lines.length,
          known: 0,
          skippedLines: [],
          skippedCount: 0,
        },
      ],
      failed: [],
      waiting: expect.any(Number),
    });
    const again = await device.run(["import", sampleFile]);
    expect(again.stdout).toBe(
      `${sampleFile}: "Fix the flaky login test", nothing new, ${lines.length} entries known\n`,
    );
    const raw = await device.run(["log", "Fix the flaky login test", "--raw"]);
    expect(raw.stdout).toBe(`${lines.join("\n")}\n`);
  });

  it("[CP30] says on stderr which lines it skipped", async () => {
    const device = await makeDevice("laptop");
    const result = await device.run(["import", await writeSessionFile({ more: "{torn\n" })]);
    expect(result.code).toBe(0);
    expect(result.stdout).toContain('"Woods", 3 entries\n');
    expect(result.stderr).toMatch(/woods\.jsonl line 5: skipped, /);
  });

  it("[CP30] reads standard input", async () => {
    const device = await makeDevice("laptop");
    const input = await readFile(await writeSessionFile(), "utf8");
    const result = await device.run(["import", "-"], { input });
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('-: "Woods", 3 entries') });
  });

  it("[CP31] imports the good files of a folder, names the others, and exits 1", async () => {
    const device = await makeDevice("laptop");
    const folder = await makeTempFolder();
    await writeSessionFile({ folder, name: "good.jsonl" });
    await writeSessionFile({ folder, name: "the-same-again.jsonl" });
    await writeFile(join(folder, "bad.jsonl"), "no session\n");
    const result = await device.run(["import", folder]);
    expect(result.code).toBe(1);
    expect(result.stdout).toMatch(
      /good\.jsonl: "Woods", 3 entries\n.*again\.jsonl: "Woods", nothing new, 3 entries known\n/,
    );
    expect(result.stderr).toMatch(/left out: .*bad\.jsonl.*\ncoppice: 1 of 3 files/);
  });
});

describe("import of what cannot all be taken", () => {
  it("[CP30, CP31] leaves out an entry that is too large, names its line, takes everything else and exits 1", async () => {
    const device = await makeDevice("laptop");
    const folder = await makeTempFolder();
    const entries = [userEntry("e1", null), userEntry("large", "e1", makeNoise(9_000_000)), userEntry("e3", "large")];
    await writeSessionFile({ folder, name: "a.jsonl", sessionId: "session-a", entries, more: "{torn\n" });
    await writeSessionFile({ folder, name: "b.jsonl", sessionId: "session-b" });
    const result = await device.run(["import", folder]);
    expect(result.code).toBe(1);
    expect(result.stdout).toMatch(/a\.jsonl: session-a, 2 entries\n.*b\.jsonl: "Woods", 3 entries\n/);
    expect(result.stderr).toMatch(
      /a\.jsonl line 3: skipped, Entry large takes \d+ bytes.*\n.*a\.jsonl line 5: skipped, .*\ncoppice: 1 entry cannot be shared: .*a\.jsonl line 3, Entry large takes \d+ bytes; a record holds at most \d+; the rest is imported\.\n$/,
    );
    const again = await device.run(["import", folder, "--json"]);
    expect(again.code).toBe(1);
    expect(JSON.parse(again.stdout)).toMatchObject({
      files: [{ written: 0, known: 2, skippedLines: [{ line: 3 }, { line: 5 }], skippedCount: 2 }, { known: 3 }],
      failed: [],
    });
    const { sessions } = await device.runJson(["sessions"]);
    expect(sessions.map(({ id }: { id: string }) => id).sort()).toEqual(["session-a", "session-b"]);
  });

  it("[CP31] goes on with the next file of a folder when one cannot be imported", async () => {
    const device = await makeDevice("laptop");
    const folder = await makeTempFolder();
    await device.run(["import", await writeSessionFile({ sessionId: "session-a" })]);
    await damageLog(device, "session-a");
    const damaged = await writeSessionFile({ folder, name: "a.jsonl", sessionId: "session-a" });
    const whole = await writeSessionFile({ folder, name: "b.jsonl", sessionId: "session-b" });
    const result = await device.run(["import", folder]);
    expect(result).toMatchObject({ code: 1, stdout: expect.stringMatching(/^\S*b\.jsonl: "Woods", 3 entries\n/) });
    expect(result.stderr).toMatch(
      /^left out: \S*a\.jsonl: The local log cannot be read: .*\ncoppice: 1 of 2 files could not be imported; the rest is\.\n$/,
    );
    expect(JSON.parse((await device.run(["import", folder, "--json"])).stdout)).toMatchObject({
      files: [{ file: whole, known: 3 }],
      failed: [{ file: damaged, error: expect.stringContaining("cannot be read") }],
    });
  });
});

describe("a session whose id is any text", () => {
  it("[WS10, CP6] is imported, listed and found, and its id does not act on the terminal", async () => {
    const device = await makeDevice("laptop");
    const sessionId = `s\u00e9ance\n\u001b[31m${"x".repeat(300)}`;
    const entries = [userEntry("e1", null)];
    expect((await device.run(["import", await writeSessionFile({ sessionId, entries })])).stdout).toMatch(
      /woods\.jsonl: s\u00e9ance x{300}, 1 entries\n/,
    );
    expect((await device.run(["append", "s\u00e9ance", "--role", "user", "Who is there?"])).code).toBe(0);
    for (const command of [["sessions"], ["status"], ["tree", sessionId]])
      expect((await device.run(command)).stdout).toMatch(/s\u00e9ance x{300}/);
    expect((await device.run(["show", sessionId, "--branch", "\u001b[31mx"])).stderr).not.toContain("\u001b");
  });
});

describe("append and move", () => {
  it("[CP33, CP55] appends below the leaf, moves, and branches from there, each in a process that ends at once (F33)", async () => {
    const device = await makeDevice("laptop");
    await device.run(["import", await writeSessionFile()]);
    const first = await device.runJson(["append", "Woods", "--role", "user", "And a grove?"]);
    expect(first).toEqual({
      coppice: "append",
      version: 1,
      session: { id: shortSessionId, name: "Woods" },
      entryId: expect.any(String),
      waiting: expect.any(Number),
    });
    expect(await device.runJson(["move", "Woods", "0002"])).toMatchObject({
      coppice: "move",
      version: 1,
      leafId: "e0000002",
    });
    const second = await device.runJson(["append", "Woods", "--role", "assistant", "-"], { input: "Two\nlines\n" });
    const { entries } = await device.runJson(["log", "Woods"]);
    const byId = new Map(entries.map((line: { entry: { id: string } }) => [line.entry.id, line.entry]));
    expect(byId.get(first.entryId)).toMatchObject({ parentId: "e0000003" });
    expect(byId.get(second.entryId)).toMatchObject({
      parentId: "e0000002",
      message: { role: "assistant", content: [{ type: "text", text: "Two\nlines" }] },
    });
  });

  it("[CP33] moves before the first entry by the word root, where an append starts a new root", async () => {
    const device = await makeDevice("laptop");
    await device.run(["import", await writeSessionFile()]);
    const moved = await device.run(["move", "Woods", "root"]);
    expect(moved.stdout).toMatch(/^now before the first entry\n/);
    const { entryId } = await device.runJson(["append", "Woods", "--role", "user", "Again"]);
    const tree = await device.runJson(["tree", "Woods"]);
    expect(tree.entries.find((entry: { id: string }) => entry.id === entryId)).toMatchObject({ parentId: null });
  });

  it("[CP33] an answer written by hand leaves the model in force and costs nothing", async () => {
    const device = await makeDevice("laptop");
    await device.run(["import", await writeSessionFile({ entries: [modelEntry("m1", null)] })]);
    const before = await device.runJson(["show", "abcd", "--context"]);
    await device.run(["append", "abcd", "--role", "assistant", "By hand"]);
    const after = await device.runJson(["show", "abcd", "--context"]);
    expect(after.context.model).toEqual(before.context.model);
    expect(after.context.messages).toMatchObject([
      { role: "assistant", usage: { totalTokens: 0 }, stopReason: "stop" },
    ]);
  });

  it("[CP33] keeps the leaf of the device from one command to the next", async () => {
    const device = await makeDevice("laptop");
    await device.run(["import", await writeSessionFile()]);
    await device.run(["move", "Woods", "e0000001"]);
    expect((await device.runJson(["tree", "Woods"])).leafId).toBe("e0000001");
    expect((await device.run(["tree", "Woods"])).stdout).toMatch(/u {2}What is a coppice\? +◀ laptop/);
  });
});

describe("show, log, tree, sessions, status", () => {
  it("[CP25, CP54] shows the branch of the leaf, of another entry, and what a model would be sent", async () => {
    const device = await makeDevice("laptop");
    await device.run(["import", await writeSessionFile()]);
    await device.run(["append", "Woods", "--role", "user", "And a grove?"]);
    expect((await device.run(["show", "Woods"])).stdout).toBe(
      [
        "── user",
        "What is a coppice?",
        "",
        "── assistant",
        "A wood that grows again from its stumps.",
        "── name Woods",
        "",
        "── user",
        "And a grove?",
        "",
      ].join("\n"),
    );
    const branch = await device.runJson(["show", "Woods", "--branch", "e0000001"]);
    expect(branch).toEqual({
      coppice: "show",
      version: 1,
      session: { id: shortSessionId, name: "Woods" },
      leafId: "e0000001",
      entries: [shortSession[0]],
    });
    const context = await device.runJson(["show", "Woods", "--context"]);
    expect(context).toMatchObject({ coppice: "show", version: 1, context: { thinkingLevel: "off" } });
    expect(context.context.messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "user"]);
    expect(await device.run(["show", "Woods", "--context", "--branch", "e0000001"])).toMatchObject({ code: 2 });
  });

  it("[CP36, CP54] lists entries in log order with device and time, and says where a move went", async () => {
    const device = await makeDevice("laptop");
    await device.run(["import", await writeSessionFile()]);
    await device.run(["move", "Woods", "e0000001"]);
    const lines = (await device.run(["log", "Woods"])).stdout.trimEnd().split("\n");
    expect(lines.slice(0, 2)).toEqual([
      "    1  e0000001  2026-12-01 10:00:00  laptop        u  What is a coppice?",
      "    2  e0000002  2026-12-01 10:00:00  laptop        a  A wood that grows again from its stumps.",
    ]);
    expect(lines[3]).toMatch(/^ {4}4 {2}\S{8} {2}\S+ \S+ {2}laptop {8}→ {2}moved to e0000001 \(What is a coppice\?\)$/);
    const json = await device.runJson(["log", "Woods"]);
    expect(json).toMatchObject({ coppice: "log", version: 1, session: { id: shortSessionId, name: "Woods" } });
    expect(json.entries[0]).toEqual({
      position: 1,
      device: { id: expect.any(String), name: "laptop" },
      entry: shortSession[0],
    });
  });

  it("[CP24, CP51] draws a tree with labels and lists the same in JSON", async () => {
    const device = await makeDevice("laptop");
    const label = {
      type: "label" as const,
      id: "e4",
      parentId: "e3",
      timestamp: "2026-12-01T10:00:02.000Z",
      targetId: "e1",
      label: "start",
    };
    const entries = [userEntry("e1", null), assistantEntry("e2", "e1"), userEntry("e3", "e2"), label];
    await device.run(["import", await writeSessionFile({ entries })]);
    const tree = await device.run(["tree", shortSessionId, "--fold", "1"]);
    expect(tree.stdout).toBe(
      `${shortSessionId} · 4 entries\nu  e1 [start]\n⋮  2 more\n·  label start                              ◀ laptop\n`,
    );
    const json = await device.runJson(["tree", "abcd"]);
    expect(json).toEqual({
      coppice: "tree",
      version: 1,
      session: { id: shortSessionId },
      leafId: "e4",
      entries: [
        expect.objectContaining({
          id: "e1",
          parentId: null,
          type: "message",
          role: "user",
          text: "e1",
          label: "start",
        }),
        expect.objectContaining({
          id: "e2",
          parentId: "e1",
          role: "assistant",
          device: { id: expect.any(String), name: "laptop" },
        }),
        expect.objectContaining({ id: "e3" }),
        expect.objectContaining({ id: "e4", type: "label" }),
      ],
      cursors: [],
    });
    expect(await device.run(["tree", "abcd", "--fold", "0"])).toMatchObject({
      code: 2,
      stderr: 'coppice: --fold takes a number of lines from 1, not "0".\n',
    });
  });

  it("[CP50, CP52, CP53] prints sessions and status in their shapes", async () => {
    const device = await makeDevice("laptop");
    expect((await device.run(["sessions"])).stdout).toBe("no sessions yet; `coppice import FILE` brings one in\n");
    await device.run(["import", await writeSessionFile()]);
    expect(await device.runJson(["sessions"])).toEqual({
      coppice: "sessions",
      version: 1,
      sessions: [
        {
          id: shortSessionId,
          name: "Woods",
          createdAt: "2026-12-01T09:59:59.000Z",
          cwd: "/home/user/woods",
          roomId: expect.any(String),
        },
      ],
    });
    expect(await device.runJson(["status"])).toEqual({
      coppice: "status",
      version: 2,
      home: device.home,
      device: { id: expect.any(String), name: "laptop" },
      relay: null,
      workspace: { local: { state: "saved" }, relay: { state: "offline" }, pending: expect.any(Number), unsaved: 0 },
      sessions: [
        {
          id: shortSessionId,
          name: "Woods",
          entries: 3,
          local: { state: "saved" },
          relay: { state: "offline" },
          pending: expect.any(Number),
          unsaved: 0,
        },
      ],
    });
  });
});

/** Text that does not compress, the same at every call. */
function makeNoise(byteLength: number): string {
  return createCipheriv("aes-256-ctr", new Uint8Array(32), new Uint8Array(16))
    .update(Buffer.alloc(byteLength))
    .toString("base64");
}

/** Appends bytes that are no update to the log of a session. */
async function damageLog({ home, runJson }: TestDevice, sessionId: string): Promise<void> {
  const { sessions } = await runJson(["sessions"]);
  const { roomId } = sessions.find(({ id }: { id: string }) => id === sessionId);
  const store = await openLmdbStore({ path: storeFolderOf(home) });
  const log = await store.openLog(roomId);
  await log.append(Uint8Array.of(255, 255, 255));
  await store.close();
}
