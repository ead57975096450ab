import { cp, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeFolderOf } from "@coppice/home";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { readSyncAddress } from "../src/through-sync/sync-address.ts";
import {
  type FollowedCommand,
  findDevice,
  type JsonLine,
  makeDevice,
  makeTempFolder,
  requireFreshBuild,
  runCoppice,
  startRelay,
  type TestDevice,
} from "./support/run-coppice.ts";
import { shortSessionId, writeSessionFile } from "./support/session-files.ts";

beforeAll(requireFreshBuild);

type Relay = Awaited<ReturnType<typeof startRelay>>;

/** A device with the short session and a relay that has all of it. */
async function makeLaptop(): Promise<{ relay: Relay; laptop: TestDevice }> {
  const relay = await startRelay();
  const laptop = await makeDevice("laptop", relay.url);
  expect((await laptop.run(["import", await writeSessionFile()])).stdout).toContain("saved here and at the relay");
  return { relay, laptop };
}

/** A running `sync` that takes commands and is in step with the relay. */
async function startSync(device: Pick<TestDevice, "follow">): Promise<FollowedCommand> {
  const sync = device.follow(["sync"]);
  await sync.waitFor(
    ({ session }) => session?.id === shortSessionId && session.relay.state === "live" && session.pending === 0,
  );
  return sync;
}

const hasEntries =
  (count: number) =>
  ({ session }: JsonLine): boolean =>
    session?.id === shortSessionId && session.entries === count;

/** How often the home has been opened: each process that opens it registers a replica. */
async function countOpenings(home: string): Promise<number> {
  const store = await openLmdbStore({ path: storeFolderOf(home) });
  try {
    const list = await store.readValue("replicas");
    return (JSON.parse(new TextDecoder().decode(list)) as { ids: string[] }).ids.length;
  } finally {
    await store.close();
  }
}

async function countingOpenings<Value>(
  home: string,
  run: () => Promise<Value>,
): Promise<{ value: Value; openings: number }> {
  const before = await countOpenings(home);
  const value = await run();
  return { value, openings: (await countOpenings(home)) - before };
}

const append = (text: string, ...more: string[]): string[] => ["append", "Woods", "--role", "user", text, ...more];

describe("commands and a running sync", () => {
  it("[CP70] it listens in the home, for this user alone, and leaves nothing behind when it ends", async () => {
    const { laptop } = await makeLaptop();
    const sync = await startSync(laptop);
    const address = (await readSyncAddress(laptop.home)) ?? "";
    expect(address).toMatch(new RegExp(`^${laptop.home}/sync-[0-9a-f]+\\.socket$`));
    for (const path of [address, join(laptop.home, "sync-address")])
      expect(((await stat(path)).mode & 0o777).toString(8)).toBe("600");
    expect(await sync.stop()).toMatchObject({ code: 0, stderr: "" });
    expect((await readdir(laptop.home)).sort()).toEqual(["device.json", "store", "workspace-link"]);
  });

  it("[CP70] a home whose path is too long for a socket is served from the temporary folder", async () => {
    const { laptop } = await makeLaptop();
    const folder = join(await makeTempFolder(), "a-folder-with-a-long-name".repeat(5));
    await mkdir(folder);
    const home = join(folder, "home");
    await rename(laptop.home, home);
    const moved = findDevice(home);
    const sync = await startSync(moved);
    const address = (await readSyncAddress(home)) ?? "";
    expect(address.startsWith(join(tmpdir(), "coppice-sync-"))).toBe(true);
    expect(((await stat(join(address, ".."))).mode & 0o777).toString(8)).toBe("700");
    const { value, openings } = await countingOpenings(home, () => moved.runJson(append("From far away")));
    expect(value).toMatchObject({ coppice: "append", waiting: 0 });
    expect(openings).toBe(0);
    await sync.stop();
    await expect(stat(join(address, ".."))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("[CP70] a copy of the home does not find the sync of the first, and can have one of its own", async () => {
    const { laptop } = await makeLaptop();
    const sync = await startSync(laptop);
    const copy = `${laptop.home}-copy`;
    await cp(laptop.home, copy, { recursive: true, filter: (path) => !path.endsWith(".socket") });
    onTestFinished(() => rm(copy, { recursive: true, force: true }));
    expect(await readSyncAddress(copy)).toBeUndefined();
    expect(await readSyncAddress(laptop.home)).toBeDefined();
    await sync.stop();
  });

  it("[CP71] [CP72] append and move are done by it, with the same output, input, errors and exit codes", async () => {
    const { laptop } = await makeLaptop();
    const alone = await laptop.run(append("Alone"));
    const sync = await startSync(laptop);
    const { openings } = await countingOpenings(laptop.home, async () => {
      const through = await laptop.run(append("Through"));
      const withoutIds = (text: string): string => text.replace(/\S{36}/, "ID");
      expect({ ...through, stdout: withoutIds(through.stdout) }).toEqual({
        ...alone,
        stdout: withoutIds(alone.stdout),
      });
      const piped = await laptop.run(append("-", "--json"), { input: "From a pipe, with ü\nand a second line\n" });
      expect(JSON.parse(piped.stdout)).toMatchObject({ coppice: "append", waiting: 0 });
      expect((await laptop.runJson(["move", "Woods", "e0000002"])).leafId).toBe("e0000002");
      expect(await laptop.run(["append", "Meadows", "--role", "user", "x"])).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(/^coppice: .*Meadows/),
      });
      expect((await laptop.run(append("x", "--resume", "mine"))).code).toBe(2);
      expect((await laptop.run(append(""))).stderr).toContain("The text is empty");
    });
    expect(openings).toBe(0);
    const { entries } = await laptop.runJson(["log", "Woods", "--offline"]);
    const texts = entries.map(({ entry }: JsonLine) => entry.message?.content?.[0]?.text).filter(Boolean);
    expect(texts.slice(-3)).toEqual(["Alone", "Through", "From a pipe, with ü\nand a second line"]);
    await sync.waitFor(hasEntries(7));
  });

  it("[CP71] with --offline, and for reading and imports, a command opens the home itself", async () => {
    const { laptop } = await makeLaptop();
    await startSync(laptop);
    const file = await writeSessionFile({ sessionId: "0194c0de-0000-7000-8000-00000000ef01" });
    for (const args of [append("Offline", "--offline"), ["log", "Woods"], ["import", file]])
      expect((await countingOpenings(laptop.home, () => laptop.run(args))).openings).toBe(1);
  });

  it("[CP74] it goes on where another process left the device, and shows the new leaf", async () => {
    const { laptop } = await makeLaptop();
    const sync = await startSync(laptop);
    const first = await laptop.runJson(append("One"));
    await laptop.run(["move", "Woods", "e0000001", "--offline"]);
    const aside = await laptop.runJson(append("Aside"));
    const other = await laptop.runJson(append("By another process", "--offline"));
    const last = await laptop.runJson(append("And on"));
    const { entries } = await laptop.runJson(["log", "Woods", "--offline"]);
    const parentById = new Map(entries.map(({ entry }: JsonLine) => [entry.id, entry.parentId]));
    expect(parentById.get(first.entryId)).toBe("e0000003");
    expect(parentById.get(aside.entryId)).toBe("e0000001");
    expect(parentById.get(other.entryId)).toBe(aside.entryId);
    expect(parentById.get(last.entryId)).toBe(other.entryId);
    await sync.waitFor(hasEntries(8));
    const { link } = await laptop.runJson(["link"]);
    const desktop = await makeDevice("desktop", link);
    const tree = await desktop.runJson(["tree", "Woods"]);
    expect(tree.cursors).toContainEqual(expect.objectContaining({ name: "laptop", leafId: last.entryId }));
  });

  it("[CP74] --resume means the same", async () => {
    const { laptop } = await makeLaptop();
    await startSync(laptop);
    const desktop = await makeDevice("desktop", (await laptop.runJson(["link"])).link);
    await desktop.run(["sync", "--once"]);
    await desktop.runJson(append("Further"));
    const own = await laptop.run(append("Mine", "--resume", "own"));
    expect(own.stderr).toBe("");
    await desktop.run(["sync", "--once"]);
    const latest = await laptop.run(append("Theirs", "--resume", "latest"));
    expect(latest.stderr).toBe("");
    await desktop.run(["sync", "--once"]);
    await desktop.runJson(append("Further still", "--resume", "latest"));
    const after = await laptop.run(append("Here"));
    expect(after.stderr).toBe("continued on desktop: 1 entry\n");
  });

  it("[CP79] [CP78] without the relay it starts, saves, says what waits, and ends in order", async () => {
    const { relay, laptop } = await makeLaptop();
    await relay.stop();
    const sync = laptop.follow(["sync"]);
    await sync.waitFor(hasEntries(3));
    const { value, openings } = await countingOpenings(laptop.home, () => laptop.run(append("Is anybody there?")));
    expect(value).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^u {2}\S+\nsaved here; 1 entry waiting for the relay\n$/),
      stderr: "the relay cannot be reached; this is what is on this device (--offline does not wait)\n",
    });
    expect(openings).toBe(0);
    expect(await sync.stop()).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("two syncs of one home", () => {
  it("[CP77] the second says so, follows, and takes over when the first is killed; commands go on", async () => {
    const { laptop } = await makeLaptop();
    const first = await startSync(laptop);
    const address = (await readSyncAddress(laptop.home)) ?? "";
    const second = await startSync(laptop);
    expect(await readSyncAddress(laptop.home)).toBe(address);
    await first.stop("SIGKILL");
    await expect.poll(() => readSyncAddress(laptop.home), { timeout: 30_000 }).not.toBe(address);
    await expect(stat(address)).rejects.toMatchObject({ code: "ENOENT" });
    const { value, openings } = await countingOpenings(laptop.home, () => laptop.runJson(append("Through the second")));
    expect(value).toMatchObject({ coppice: "append", waiting: 0 });
    expect(openings).toBe(0);
    await second.waitFor(hasEntries(4));
    const ended = await second.stop();
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stderr).toBe(
      "another `coppice sync` of this home does its commands; this one follows, and takes over when that ends\n",
    );
  });

  it("[CP73] [CP77] what a killed sync left is in nobody's way", async () => {
    const { laptop } = await makeLaptop();
    const killed = await startSync(laptop);
    await killed.stop("SIGKILL");
    const left = (await readSyncAddress(laptop.home)) ?? "";
    expect(await laptop.runJson(append("By itself"))).toMatchObject({ waiting: 0 });
    await startSync(laptop);
    await expect(stat(left)).rejects.toMatchObject({ code: "ENOENT" });
    expect((await countingOpenings(laptop.home, () => laptop.run(append("Through")))).openings).toBe(0);
  });
});

describe("a sync that cannot begin", () => {
  it("[CP78] does not wait for a home that is not there", async () => {
    const home = join(await makeTempFolder(), "none");
    expect(await runCoppice(["sync", "--home", home])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("There is no workspace in"),
    });
  });
});
