import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runCommandJson, runCommandWell, startCommand } from "../src/command-process.ts";
import type { PiHome } from "../src/pi-home.ts";
import type { PiRecord } from "../src/pi-process.ts";
import { runPiPrint } from "../src/pi-process.ts";
import { describePi } from "./describe-pi.ts";
import {
  coppiceExtension,
  isLive,
  readEntries,
  readPiFile,
  type SharedPis,
  startSharedPis,
  withoutMoves,
} from "./shared-pis.ts";

let pis: SharedPis;
let laptop: PiHome;
let phone: PiHome;

beforeEach(async () => {
  pis = await startSharedPis();
  laptop = await pis.addDevice("laptop");
  phone = await pis.addDevice("phone");
});
afterEach(() => pis.close());

const isCoppiceStatus = (record: PiRecord): boolean => record.method === "setStatus" && record.statusKey === "coppice";

describePi("what pi writes, while it is shared", () => {
  it("[EX1] nothing is begun before a session is switched on, and the status line says so", async () => {
    const pi = await pis.start(laptop);
    await pi.prompt("a prompt that stays here");
    expect(await pi.waitForStatus("coppice", () => true)).toBe("coppice: off");
    expect(await pi.stop()).toBe(0);
    expect(pi.records.filter(isCoppiceStatus)).toHaveLength(1);
    expect(existsSync(join(laptop.coppiceHome, "pi"))).toBe(false);
    expect(existsSync(join(laptop.coppiceHome, "store"))).toBe(false);
  });

  it("[EX2] prompts, tool calls, branches, labels, names, compactions and notes are on the other device as the file has them", async () => {
    // As small a session is compacted only by one who keeps little.
    const settings = { compaction: { keepRecentTokens: 1 } };
    await writeFile(join(laptop.agentDir, "settings.json"), JSON.stringify(settings));
    const pi = await pis.start(laptop);
    await pi.prompt("/coppice on");
    await pi.prompt("first");
    await pi.prompt('tool bash {"command":"echo from the tool"}');
    const answered = (await pi.call("get_entries")).entries.find((e: PiRecord) => e.message?.role === "assistant");
    await pi.prompt(`/test-go ${answered.id}`);
    await pi.prompt("a second branch");
    await pi.prompt(`/test-label ${answered.id} start here`);
    await pi.prompt("/test-note no event of its own");
    await pi.call("set_session_name", { name: "a name" });
    await pi.call("bash", { command: "echo typed" });
    await pi.call("compact");
    await pi.prompt("after the compaction");
    await pi.waitForStatus("coppice", isLive);
    const { header, entries } = await readPiFile(laptop);
    const fetched = await readEntries(phone, header.id);
    expect(withoutMoves(fetched)).toEqual(entries);
    const { sessions } = await runCommandJson(["sessions", "--home", phone.coppiceHome]);
    expect(sessions).toMatchObject([{ id: header.id, name: "a name" }]);
    expect(await pi.stop()).toBe(0);
  });

  it("[EX3] an entry is on the other device within a second", async () => {
    const pi = await pis.start(laptop);
    await pi.prompt("/coppice on");
    await pi.prompt("first");
    await pi.waitForStatus("coppice", isLive);
    await runCommandWell(["sync", "--once", "--home", phone.coppiceHome]);
    const watch = startCommand(["watch", "--home", phone.coppiceHome]);
    try {
      await watch.waitForLine(({ sessions }) => sessions === 1);
      for (const text of ["one", "two", "three"]) {
        await pi.prompt(`/test-note ${text}`);
        const beganMs = performance.now();
        await watch.waitForLine(({ entry }) => entry?.data?.text === text);
        expect(performance.now() - beganMs).toBeLessThan(1_000);
      }
    } finally {
      await watch.stop();
    }
  });

  it("[EX4] a pi that is opened and closed again leaves no session", async () => {
    const pi = await pis.start(laptop);
    await pi.prompt("/coppice on");
    expect(await pi.waitForStatus("coppice", (text) => text !== "coppice: off")).toBe(
      "coppice: on · nothing to share yet",
    );
    expect(await pi.stop()).toBe(0);
    const { sessions } = await runCommandJson(["sessions", "--home", laptop.coppiceHome]);
    expect(sessions).toEqual([]);
  });

  it("[EX5] in print mode everything is saved, and at the relay, before pi ends", async () => {
    const first = await pis.start(laptop);
    await first.prompt("/coppice on project");
    expect(await first.stop()).toBe(0);
    const { code, stdout, stderr } = await runPiPrint({ home: laptop, extensions: [coppiceExtension] }, "hello");
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "re: hello [1]\n", stderr: "" });
    const { header, entries } = await readPiFile(laptop);
    expect(withoutMoves(await readEntries(phone, header.id))).toEqual(entries);
  });

  it("[EX6] killed in the middle of a turn, what pi had written follows when it is opened again, once", async () => {
    const pi = await pis.start(laptop, { tokensPerSecond: 20 });
    await pi.prompt("/coppice on");
    await pi.prompt("first");
    await pi.waitForStatus("coppice", isLive);
    const from = pi.records.length;
    await pi.call("prompt", { message: "slow 500" });
    await pi.waitFor("streaming", ({ type }) => type === "message_update", from);
    await pi.kill();
    const { header } = await readPiFile(laptop);
    const next = await pis.start(laptop, { args: ["--continue"] });
    await next.waitForStatus("coppice", isLive);
    await next.prompt("go on");
    await next.waitForStatus("coppice", isLive);
    expect(await next.stop()).toBe(0);
    const { entries } = await readPiFile(laptop);
    expect(withoutMoves(await readEntries(phone, header.id))).toEqual(entries);
  });

  it("[EX9] a session of an old format that was imported before stands there once, when pi has migrated its file and goes on in it", async () => {
    const file = join(laptop.sessionDir, "old.jsonl");
    const old = await readFile(new URL("../fixtures/version-1.jsonl", import.meta.url), "utf8");
    // pi opens no session whose folder is not there.
    await writeFile(file, old.replace("/home/maya/work/harbor-shop", laptop.cwd));
    await runCommandWell(["import", file, "--home", laptop.coppiceHome]);
    const { sessions } = await runCommandJson(["sessions", "--home", laptop.coppiceHome]);
    const [{ id }] = sessions;
    const imported = await readEntries(laptop, id);

    const pi = await pis.start(laptop, { args: ["--session", file] });
    await pi.prompt("/coppice on");
    await pi.prompt("go on");
    await pi.waitForStatus("coppice", isLive);
    const own = await readPiFile(laptop);
    const stored = await readEntries(laptop, id);
    expect(withoutMoves(stored)).toHaveLength(own.entries.length);
    expect(stored.slice(0, imported.length)).toEqual(imported);

    // The way back: the file has all of it, under pi's ids.
    const from = pi.records.length;
    await pi.prompt(`/coppice open ${id}`);
    await pi.waitFor("the opened session", (record) => isCoppiceStatus(record) && isLive(record.statusText), from);
    await pi.prompt("and on");
    await pi.waitForStatus("coppice", isLive);
    expect(await pi.stop()).toBe(0);
    const after = await readPiFile(laptop);
    expect(after.entries.slice(0, own.entries.length)).toEqual(own.entries);
    expect(after.entries.filter((entry: PiRecord) => entry.message?.role === "user")).toHaveLength(
      imported.filter((entry) => entry.message?.role === "user").length + 2,
    );
    expect(withoutMoves(await readEntries(laptop, id))).toHaveLength(after.entries.length);
  });
});
