import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runCommandWell } from "../src/command-process.ts";
import { type PiHome, readModelRequests } from "../src/pi-home.ts";
import type { PiProcess, PiRecord } from "../src/pi-process.ts";
import { describePi } from "./describe-pi.ts";
import {
  isLive,
  readEntries,
  readPiFile,
  type SharedPis,
  startSharedPis,
  waitForNotice,
  withoutMoves,
} from "./shared-pis.ts";

let pis: SharedPis;
let laptop: PiHome;
let desktop: PiHome;

beforeEach(async () => {
  pis = await startSharedPis();
  laptop = await pis.addDevice("laptop");
  desktop = await pis.addDevice("desktop");
});
afterEach(() => pis.close());

const byId = (entries: readonly PiRecord[]): PiRecord[] =>
  [...entries].sort((left, right) => (left.id < right.id ? -1 : 1));

const isStart = ({ method, statusKey, statusText }: PiRecord): boolean =>
  method === "setStatus" && statusKey === "coppice" && isLive(statusText);

/** Opens a session in a pi that runs; settles when it is in step. */
async function open(pi: PiProcess, sessionId: string): Promise<void> {
  const from = pi.records.length;
  await pi.prompt(`/coppice open ${sessionId}`);
  await pi.waitFor("the opened session", isStart, from);
}

/** What the model was sent last, without what differs from device to device: the system message names the folder. */
async function lastRequest(home: PiHome): Promise<PiRecord[]> {
  const messages = (await readModelRequests(home)).at(-1)?.messages ?? [];
  return messages.filter(({ role }) => role !== "system").map(({ role, content }) => ({ role, content }));
}

describePi("/coppice open", () => {
  it("[EX40] goes on with a session whose device is gone: the whole tree, the same branch, and the model is sent the same", async () => {
    const onLaptop = await pis.start(laptop);
    await onLaptop.prompt("/coppice on");
    await onLaptop.prompt("first");
    await onLaptop.prompt('tool bash {"command":"echo from the tool"}');
    const { entries } = await onLaptop.call("get_entries");
    const answer = entries.find((entry: PiRecord) => entry.message?.role === "assistant");
    await onLaptop.prompt(`/test-go ${answer.id}`);
    await onLaptop.prompt("another branch");
    await onLaptop.waitForStatus("coppice", isLive);
    const file = await readPiFile(laptop);
    await onLaptop.kill();
    await rm(laptop.coppiceHome, { recursive: true });

    const onDesktop = await pis.start(desktop);
    await open(onDesktop, file.header.id);
    await onDesktop.prompt("go on");
    const sent = await lastRequest(desktop);
    // What the laptop would have sent.
    const again = await pis.start(laptop, { args: ["--continue"] });
    await again.prompt("go on");
    expect(sent).toEqual(await lastRequest(laptop));

    await onDesktop.waitForStatus("coppice", isLive);
    const opened = await readPiFile(desktop);
    expect(opened.header).toEqual({ ...file.header, cwd: desktop.cwd });
    const ids = new Set(file.entries.map(({ id }) => id));
    expect(byId(opened.entries.filter(({ id }) => ids.has(id)))).toEqual(byId(file.entries));
    expect(opened.entries.filter(({ parentId }) => parentId === null)).toHaveLength(1);
    expect(byId(withoutMoves(await readEntries(desktop, file.header.id)))).toEqual(byId(opened.entries));
    expect(await readdir(desktop.sessionDir)).toHaveLength(1);
  });

  it("[EX41] goes on in its own file when another device has gone on, back and forth, and pi's lines stay as they are", async () => {
    const onLaptop = await pis.start(laptop);
    const onDesktop = await pis.start(desktop);
    await onLaptop.prompt("/coppice on");
    await onLaptop.prompt("laptop 0");
    await onLaptop.waitForStatus("coppice", isLive);
    const { header } = await readPiFile(laptop);
    let before = await readText(laptop);
    for (const round of [1, 2, 3]) {
      for (const [pi, name] of [
        [onDesktop, "desktop"],
        [onLaptop, "laptop"],
      ] as const) {
        await open(pi, header.id);
        await pi.prompt(`${name} ${round}`);
        await pi.waitForStatus("coppice", isLive);
      }
      const now = await readText(laptop);
      expect(now.startsWith(before)).toBe(true);
      before = now;
    }
    expect(await onLaptop.stop()).toBe(0);
    expect(await onDesktop.stop()).toBe(0);
    const asked = (await readModelRequests(laptop)).at(-1)?.messages.filter(({ role }) => role === "user");
    expect(asked?.map(({ content }) => content[0].text)).toEqual([
      "laptop 0",
      ...[1, 2, 3].flatMap((round) => [`desktop ${round}`, `laptop ${round}`]),
    ]);
    const stored = withoutMoves(await readEntries(laptop, header.id));
    expect(new Set(stored.map(({ id }) => id)).size).toBe(stored.length);
    expect(stored.filter(({ parentId }) => parentId === null)).toHaveLength(1);
    expect(stored.filter(({ message }) => message?.role === "user")).toHaveLength(7);
  });

  it("[EX42] lets the user choose among the sessions, and says when the folder holds other code", async () => {
    const { execFileSync } = await import("node:child_process");
    const git = (cwd: string, ...args: string[]): unknown =>
      execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], { cwd });
    git(laptop.cwd, "init", "-q");
    git(laptop.cwd, "remote", "add", "origin", "https://example.org/team/project.git");
    git(laptop.cwd, "commit", "-q", "--allow-empty", "-m", "first");
    const onLaptop = await pis.start(laptop);
    await onLaptop.prompt("/coppice on");
    await onLaptop.prompt("first");
    await onLaptop.call("set_session_name", { name: "the flaky test" });
    await onLaptop.waitForStatus("coppice", isLive);
    const { header } = await readPiFile(laptop);

    // The desktop has just been paired and has heard of nothing yet.
    const asked: PiRecord[] = [];
    // 14 hours ahead of UTC.
    const env = { TZ: "Pacific/Kiritimati" };
    const onDesktop = await pis.start(desktop, { env }, (request) => {
      asked.push(request);
      return { value: request.options[0] };
    });
    const from = onDesktop.records.length;
    await onDesktop.prompt("/coppice open");
    const warning = await waitForNotice(onDesktop, (text) => text.includes("example.org"), from);
    expect(warning).toMatch(
      /^Coppice: The session is about https:\/\/example\.org\/team\/project\.git, and .* is no clone of it\.$/,
    );
    expect(asked).toMatchObject([{ method: "select", options: [expect.stringMatching(/^the flaky test · /)] }]);
    const [, shown = ""] = / · ([-\d]+ [:\d]+) · /.exec(asked[0].options[0]) ?? [];
    const agoMs = Date.now() - Date.parse(`${shown.replace(" ", "T")}+14:00`);
    expect(agoMs).toBeGreaterThanOrEqual(0);
    expect(agoMs).toBeLessThan(10 * 60_000);
    expect((await onDesktop.call("get_state")).sessionId).toBe(header.id);
    expect(await readdir(desktop.sessionDir)).toHaveLength(1);
  });

  it("[EX13] a device that has just been paired is told of the others", async () => {
    await runCommandWell(["sync", "--once", "--home", laptop.coppiceHome]);
    const onDesktop = await pis.start(desktop);
    await onDesktop.prompt("/coppice devices");
    const told = await waitForNotice(onDesktop, () => true);
    // Neither has heard of the other before, so that either may stand first.
    expect(told.split("\n").sort()).toEqual(["desktop · this device", "laptop"]);
  });

  it("[EX43] a text that names no session leaves pi where it is", async () => {
    const onLaptop = await pis.start(laptop);
    await onLaptop.prompt("/coppice on");
    await onLaptop.prompt("first");
    await onLaptop.waitForStatus("coppice", isLive);
    const from = onLaptop.records.length;
    await onLaptop.prompt("/coppice open no such session");
    expect(await waitForNotice(onLaptop, () => true, from)).toMatch(/^Coppice: No session is called/);
    await onLaptop.prompt("goes on");
    expect(await onLaptop.stop()).toBe(0);
    const { header, entries } = await readPiFile(laptop);
    expect(withoutMoves(await readEntries(laptop, header.id))).toEqual(entries);
  });
});

async function readText({ sessionDir }: PiHome): Promise<string> {
  const [name = ""] = await readdir(sessionDir);
  return readFile(join(sessionDir, name), "utf8");
}
