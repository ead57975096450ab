import { appendFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { PiHome } from "../src/pi-home.ts";
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

beforeEach(async () => {
  pis = await startSharedPis();
  laptop = await pis.addDevice("laptop");
});
afterEach(() => pis.close());

const byId = (entries: readonly PiRecord[]): PiRecord[] =>
  [...entries].sort((left, right) => (left.id < right.id ? -1 : 1));
const idsOf = (entries: readonly PiRecord[]): string[] => entries.map(({ id }) => id);

/** A shared session with one answer in it. */
async function startShared(): Promise<PiProcess> {
  const pi = await pis.start(laptop);
  await pi.prompt("/coppice on");
  await pi.prompt("first");
  await pi.waitForStatus("coppice", isLive);
  return pi;
}

describePi("two pis on one file", () => {
  it("[EX16] the second one is warned when it opens it, and what both write is in the workspace, once each", async () => {
    const one = await startShared();
    const two = await pis.start(laptop, { args: ["--continue"] });
    expect(await waitForNotice(two, (text) => text.includes("another pi"))).toContain(`process ${one.pid}`);
    await one.prompt("by the first");
    await two.prompt("by the second");
    await one.prompt("by the first again");
    expect(await one.stop()).toBe(0);
    expect(await two.stop()).toBe(0);
    const { header, entries } = await readPiFile(laptop);
    const stored = withoutMoves(await readEntries(laptop, header.id));
    expect(byId(stored)).toEqual(byId(entries));
    expect(new Set(idsOf(stored)).size).toBe(stored.length);
    // Both went on from the same answer.
    const asked = entries.filter((entry) => entry.message?.role === "user").map(({ parentId }) => parentId);
    expect(asked[1]).toBe(asked[2]);
  });

  it("[EX17] F100: lines that another program appends are stored and told of once, and never said to be in this pi", async () => {
    const pi = await startShared();
    const { header, entries } = await readPiFile(laptop);
    const [name = ""] = await readdir(laptop.sessionDir);
    const foreign = { ...entries.at(-1), id: "feedfeed", parentId: entries.at(-1).id };
    await appendFile(join(laptop.sessionDir, name), `${JSON.stringify(foreign)}\n`);
    expect(await waitForNotice(pi, (text) => text.includes("writes into"))).toMatch(/does not show/);
    await pi.prompt("goes on where it was");
    await appendFile(join(laptop.sessionDir, name), `${JSON.stringify({ ...foreign, id: "feedbeef" })}\n`);
    await pi.prompt("and on");
    expect(idsOf((await pi.call("get_entries")).entries)).not.toContain("feedfeed");
    expect(await pi.stop()).toBe(0);
    const after = await readPiFile(laptop);
    // Both of them: the second one by the next pi at the latest.
    const next = await pis.start(laptop, { args: ["--continue"] });
    await next.waitForStatus("coppice", isLive);
    expect(await next.stop()).toBe(0);
    const stored = withoutMoves(await readEntries(laptop, header.id));
    expect(byId(stored)).toEqual(byId(after.entries));
    expect(after.entries.find((entry) => entry.message?.content?.[0]?.text === "goes on where it was").parentId).toBe(
      entries.at(-1).id,
    );
    const told = pi.records.filter(({ method, message }) => method === "notify" && message.includes("writes into"));
    expect(told).toHaveLength(1);
  });
});

describePi("where pi stands", () => {
  it("[EX7] the workspace's leaf of this device is pi's, after appends and after moves", async () => {
    const pi = await startShared();
    await pi.prompt("second");
    const { entries } = await pi.call("get_entries");
    const answer = entries.find((entry: PiRecord) => entry.message?.role === "assistant");
    await pi.prompt(`/test-go ${answer.id}`);
    const { header } = await readPiFile(laptop);
    await pi.waitForStatus("coppice", isLive);
    await expect
      .poll(async () => (await readEntries(laptop, header.id)).at(-1))
      .toMatchObject({
        type: "leaf",
        targetId: answer.id,
      });
  });

  it("[EX8] F97: after a move and no append pi goes on there when it is opened again, in order or after a kill", async () => {
    for (const end of ["stop", "kill"] as const) {
      const pi = await pis.start(laptop, { args: ["--continue"] });
      if (end === "stop") await pi.prompt("/coppice on");
      await pi.prompt(`first of ${end}`);
      await pi.prompt(`second of ${end}`);
      const { entries } = await pi.call("get_entries");
      const answer = entries.find((e: PiRecord) => e.message?.content?.[0]?.text?.startsWith(`re: first of ${end}`));
      await pi.prompt(`/test-go ${answer.id}`);
      const { header } = await readPiFile(laptop);
      await expect.poll(async () => (await readEntries(laptop, header.id)).at(-1).targetId).toBe(answer.id);
      if (end === "stop") expect(await pi.stop()).toBe(0);
      else await pi.kill();

      const next = await pis.start(laptop, { args: ["--continue"] });
      await next.waitForStatus("coppice", isLive);
      await next.prompt(`third of ${end}`);
      const after = (await next.call("get_entries")).entries;
      const third = after.find((e: PiRecord) => e.message?.content?.[0]?.text === `third of ${end}`);
      const parent = after.find(({ id }: PiRecord) => id === third.parentId);
      expect(parent.id === answer.id || parent.parentId === answer.id).toBe(true);
      expect(await next.stop()).toBe(0);
    }
  });
});
