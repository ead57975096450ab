import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runCommandJson } from "../src/command-process.ts";
import type { PiHome } from "../src/pi-home.ts";
import type { PiProcess, PiRecord } from "../src/pi-process.ts";
import { describePi } from "./describe-pi.ts";
import { isLive, readEntries, type SharedPis, startSharedPis, waitForNotice } from "./shared-pis.ts";

// Put together here, so that no file of the project holds anything that looks like a secret.
const token = `ghp_${"a1B2c3".repeat(6)}`;
let pis: SharedPis;
let laptop: PiHome;

beforeEach(async () => {
  pis = await startSharedPis();
  laptop = await pis.addDevice("laptop");
});
afterEach(() => pis.close());

/** A session that pi had before; gives its id and its entry. */
async function addSession(content: string): Promise<{ id: string; entry: object }> {
  const id = randomUUID();
  const timestamp = "2026-01-01T00:00:00.000Z";
  const header = { type: "session", version: 3, id, timestamp, cwd: laptop.cwd };
  const message = { role: "user", content, timestamp: 0 };
  const entry = { type: "message", id: "0000000a", parentId: null, timestamp, message };
  const path = join(laptop.sessionDir, `2026-01-01T00-00-00-000Z_${id}.jsonl`);
  await writeFile(path, `${JSON.stringify(header)}\n${JSON.stringify(entry)}\n`);
  return { id, entry };
}

async function type(pi: PiProcess, command: string, passes: (text: string) => boolean = () => true): Promise<string> {
  const from = pi.records.length;
  await pi.prompt(command);
  return waitForNotice(pi, passes, from);
}

const listIds = async (): Promise<string[]> =>
  (await runCommandJson(["sessions", "--home", laptop.coppiceHome])).sessions.map(({ id }: PiRecord) => id).sort();

describePi("/coppice import", () => {
  it("[EX50] takes in what the user chose, beside a session that is shared, and again only what is new", async () => {
    const clean = [await addSession("one"), await addSession("two")];
    const risky = await addSession(`use ${token}`);
    const asked: PiRecord[] = [];
    let choice = "The 2 without likely secrets";
    const pi = await pis.start(laptop, {}, (request) => {
      asked.push(request);
      return { value: choice };
    });
    await type(pi, "/coppice on");
    await pi.prompt("the session that pi runs");
    await pi.waitForStatus("coppice", isLive);
    const { sessionId } = await pi.call("get_state");
    expect(await type(pi, "/coppice import")).toBe("Coppice: 2 sessions are taken in.");
    expect(asked[0]?.title).toMatch(/^Coppice: 3 sessions, \d kB; likely secrets in 1 of them \(github 1\)\. Take in/);
    expect(JSON.stringify(asked)).not.toContain(token);
    expect(await listIds()).toEqual([sessionId, ...clean.map(({ id }) => id)].sort());
    choice = "All 1";
    expect(await type(pi, "/coppice import")).toBe("Coppice: 1 session is taken in.");
    expect(asked[1]?.title).toMatch(/^Coppice: 3 sessions, \d kB, 2 known already; likely secrets in 1/);
    expect(await type(pi, "/coppice import")).toMatch(/3 known already\. There is nothing to take in\.$/);
    expect(await pi.stop()).toBe(0);
    expect(await readEntries(laptop, risky.id)).toEqual([risky.entry]);
  });

  it("[EX54] a new workspace's first word names it, and nothing is taken in before the user says so", async () => {
    await rm(laptop.coppiceHome, { recursive: true });
    await addSession("one");
    const pi = await pis.start(laptop);
    expect(await type(pi, `/coppice pair ${pis.relay.url}`)).toMatch(
      /has a workspace now.*\n\/coppice import brings in the 1 session that pi has on this device\.$/,
    );
    // Without an answer nothing is chosen.
    expect(await type(pi, "/coppice import")).toBe("Coppice: Nothing was taken in.");
    expect(await pi.stop()).toBe(0);
    expect(await listIds()).toEqual([]);
  });

  it("[EX52] [EX53] shows how far it is; stopped by typing it again, or killed, it loses nothing, and the next takes the rest", async () => {
    const sessions = await addSessions();
    const chooseFirst = ({ options }: PiRecord): PiRecord => ({ value: options[0] });
    const first = await pis.start(laptop, {}, chooseFirst);
    await first.prompt("/coppice import");
    await first.waitForStatus("coppice-import", isTakingIn);
    const said = await type(first, "/coppice import", (text) => /taken in/.test(text));
    expect(said).toMatch(/^Coppice: stopped with \d+ of 24 taken in\. \/coppice import goes on\.$/);
    expect(await first.waitForStatus("coppice-import", (text) => text === undefined)).toBeUndefined();
    await first.prompt("/coppice import");
    await first.waitForStatus("coppice-import", isTakingIn);
    await first.kill();
    const pi = await pis.start(laptop, {}, chooseFirst);
    await type(pi, "/coppice import", (text) => /sessions are taken in\.$/.test(text));
    expect(await pi.stop()).toBe(0);
    expect(await listIds()).toEqual(sessions.map(({ id }) => id).sort());
    const [{ id, entry } = { id: "", entry: {} }] = sessions;
    expect(await readEntries(laptop, id)).toEqual([entry]);
  });
});

async function addSessions(): Promise<{ id: string; entry: object }[]> {
  return Promise.all(Array.from({ length: 24 }, (_, at) => addSession(`session ${at}`)));
}

const isTakingIn = (text: string | undefined): boolean => /taking in \d+ of \d+$/.test(text ?? "");
