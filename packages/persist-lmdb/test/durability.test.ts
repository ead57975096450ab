import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { bytesOf, range, readAll } from "@coppice/testkit";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { buildIfStale, startChild, startProcess } from "./child-process.ts";
import { makeTempFolder } from "./temp-folder.ts";

const killRounds = Number(process.env.SIM_RUNS ?? 12);

beforeAll(buildIfStale);

test(`[UL21] no settled append is lost when the process is killed (${killRounds} rounds)`, async () => {
  const folder = await makeTempFolder();
  const textBySeq = new Map<number, string>();
  for (const round of range(0, killRounds)) {
    const child = startChild("append-until-killed.mjs", [folder, `round${round}`]);
    const report = (line: string): void => {
      const [seq, text] = line.split(" ");
      textBySeq.set(Number(seq), text ?? "");
    };
    // The child goes on committing while a line travels, so the kill hits it anywhere in a commit.
    for (let lines = 1 + ((round * 37) % 61); lines > 0; lines--) report(await child.nextLine());
    child.process.kill("SIGKILL");
    for (const line of await child.remainingLines()) report(line);
    expect((await child.ended).signal).toBe("SIGKILL");

    const store = await openLmdbStore({ path: folder });
    const stored = await readAll(await store.openLog("room"));
    await store.close();
    expect(stored.map(({ seq }) => seq)).toEqual(range(1, stored.length + 1));
    for (const [seq, text] of textBySeq) {
      const update = stored[seq - 1]?.update;
      expect(new TextDecoder().decode(update).replace(/\.+$/, "")).toBe(text);
    }
  }
  expect(textBySeq.size).toBeGreaterThan(killRounds);
}, 300_000);

test("[UL21] a process killed in the middle of its commits does not hold up the others", async () => {
  const folder = await makeTempFolder();
  const store = await openLmdbStore({ path: folder });
  onTestFinished(() => store.close());
  const log = await store.openLog("room");
  const ownSeqs: number[] = [];
  for (const round of range(0, 5)) {
    const child = startChild("append-until-killed.mjs", [folder, `round${round}`]);
    for (let lines = 1 + ((round * 37) % 23); lines > 0; lines--) {
      await child.nextLine();
      ownSeqs.push(await log.append(bytesOf(round)));
    }
    child.process.kill("SIGKILL");
    ownSeqs.push(...(await Promise.all(range(0, 5).map(() => log.append(bytesOf(round))))));
    await child.ended;
    ownSeqs.push(await log.append(bytesOf(round)));
  }
  expect(new Set(ownSeqs).size).toBe(ownSeqs.length);
  const stored = await readAll(log);
  expect(stored.map(({ seq }) => seq)).toEqual(range(1, stored.length + 1));
  for (const seq of ownSeqs) expect(stored[seq - 1]?.update.length).toBe(1);
});

const canTrace = (() => {
  try {
    execFileSync("strace", ["-o", "/dev/null", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

test.skipIf(!canTrace)("[UL20] pages, then fsync, then the synced root page, then the promise settles", async () => {
  const folder = await makeTempFolder();
  const trace = join(folder, "trace");
  const script = new URL("children/settle-twice.mjs", import.meta.url).pathname;
  const calls = "trace=write,writev,pwrite64,pwritev,fdatasync,openat";
  const store = join(folder, "store");
  const child = startProcess("strace", ["-f", "-e", calls, "-o", trace, process.execPath, script, store]);
  expect((await child.ended).code).toBe(0);

  const steps: string[] = [];
  let dataFile = "";
  let syncedDataFile = "";
  for (const line of (await readFile(trace, "utf8")).split("\n")) {
    const opened = /data\.mdb", (\S+)\b.* = (\d+)$/.exec(line);
    // The handle that reserves space is opened for appending.
    if (opened?.[1]?.includes("O_RDWR") && !opened[1].includes("O_APPEND")) dataFile = opened[2] ?? "";
    if (opened?.[1]?.includes("O_DSYNC")) syncedDataFile = opened[2] ?? "";
    const [, call, file] = /\d+ +(\w+)\((\d+)/.exec(line) ?? [];
    if (line.includes('"appending')) steps.push("appending");
    else if (line.includes('"settled')) steps.push("settled");
    else if (call === "fdatasync" && file === dataFile) steps.push("fsync");
    else if (call?.includes("write") && file === dataFile) steps.push("pages");
    else if (call?.includes("write") && file === syncedDataFile) steps.push("synced root");
  }
  const appends = steps.slice(steps.indexOf("appending")).filter((step, index, all) => step !== all[index - 1]);
  const oneAppend = ["appending", "pages", "fsync", "synced root", "settled"];
  expect(appends).toEqual([...oneAppend, ...oneAppend]);
});

test("[UL22] appends of one turn share one commit, whatever the log; one alone is a commit of its own", async () => {
  const folder = await makeTempFolder();
  const store = await openLmdbStore({ path: folder });
  onTestFinished(() => store.close());
  const logs = await Promise.all(["a", "b", "c"].map((name) => store.openLog(name)));
  const countCommits = async (write: () => Promise<unknown>): Promise<number> => {
    const before = await readTransactionId(folder);
    await write();
    return (await readTransactionId(folder)) - before;
  };
  expect(await countCommits(() => store.writeValue("device", bytesOf(1)))).toBe(1);
  expect(
    await countCommits(() =>
      Promise.all(range(0, 250).map((index) => logs[index % logs.length]?.append(bytesOf(index & 0xff)))),
    ),
  ).toBe(1);
  expect(
    await countCommits(async () => {
      for (let count = 0; count < 3; count++) await logs[0]?.append(bytesOf(count));
    }),
  ).toBe(3);
});

/** The number of the newest transaction, from LMDB's two root pages (mdb.c, MDB_meta; pages of 8 kB). */
async function readTransactionId(folder: string): Promise<number> {
  const file = await readFile(join(folder, "data.mdb"));
  return Math.max(...[0, 8192].map((page) => Number(file.readBigUInt64LE(page + 152))));
}
