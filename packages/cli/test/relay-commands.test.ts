import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { keepAppending } from "./support/keep-appending.ts";
import {
  followCoppice,
  type JsonLine,
  makeDevice,
  makeTempFolder,
  requireFreshBuild,
  runCoppice,
  startRelay,
  type TestDevice,
} from "./support/run-coppice.ts";
import { sampleFile, shortSessionId, writeSessionFile } from "./support/session-files.ts";

beforeAll(requireFreshBuild);

/** A relay, and two devices of one workspace, the first with the short session. */
async function makeWorkspace(): Promise<{
  relay: Awaited<ReturnType<typeof startRelay>>;
  laptop: TestDevice;
  desktop: TestDevice;
}> {
  const relay = await startRelay();
  const laptop = await makeDevice("laptop", relay.url);
  expect((await laptop.run(["import", await writeSessionFile()])).stdout).toContain("saved here and at the relay");
  const { link } = await laptop.runJson(["link"]);
  return { relay, laptop, desktop: await makeDevice("desktop", link) };
}

const hasEntries =
  (count: number) =>
  (line: JsonLine): boolean =>
    line.session?.id === shortSessionId &&
    line.session.entries === count &&
    line.session.pending === 0 &&
    line.session.relay.state === "live";

describe("serve", () => {
  it("[CP45, CP46, CP56] prints one line with its address on a free port and ends at SIGTERM and at SIGINT with exit code 0", async () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const relay = await startRelay();
      expect(relay.url).toBe(`ws://127.0.0.1:${relay.port}`);
      const ended = await relay.stop(signal);
      expect(ended).toMatchObject({ code: 0, signal: null, stderr: "" });
      expect(JSON.parse(ended.stdout)).toEqual({
        coppice: "serve",
        version: 1,
        url: relay.url,
        port: relay.port,
        data: relay.dataFolder,
        page: `http://127.0.0.1:${relay.port}/`,
      });
    }
  });
});

describe("sync --once", () => {
  it("[CP44, CP32, CP56] fetches what another device imported, byte for byte, and does nothing the second time", async () => {
    const relay = await startRelay();
    const laptop = await makeDevice("laptop", relay.url);
    await laptop.run(["import", sampleFile]);
    const desktop = await makeDevice("desktop", (await laptop.runJson(["link"])).link);
    const lines = (await readFile(sampleFile, "utf8")).trimEnd().split("\n").slice(1);
    expect(await desktop.runJson(["sync", "--once"])).toEqual({
      coppice: "sync",
      version: 2,
      sessions: [
        { id: expect.any(String), name: "Fix the flaky login test", entries: lines.length, fetched: lines.length },
      ],
      waiting: 0,
    });
    const raw = await desktop.run(["log", "Fix the flaky login test", "--raw", "--offline"]);
    expect(raw.stdout).toBe(`${lines.join("\n")}\n`);
    expect((await desktop.run(["sync", "--once"])).stdout).toBe("synced 1 session · 0 entries fetched · 0 waiting\n");
  });

  it("[CP44] exits 1 with a sentence when the relay cannot be reached", async () => {
    const { relay, desktop } = await makeWorkspace();
    await relay.stop();
    const result = await desktop.run(["sync", "--once"]);
    expect(result).toMatchObject({ code: 1, stdout: "" });
    expect(result.stderr).toMatch(
      /^coppice: The relay at ws:\/\/127\.0\.0\.1:\d+ cannot be reached.*; check the address and that `coppice serve` runs there, then run the command again\.\n$/,
    );
  });

  it("[CP44] exits 1 without a relay and 2 together with --offline", async () => {
    const device = await makeDevice("laptop");
    expect(await device.run(["sync", "--once"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has no relay to sync with"),
    });
    expect((await device.run(["sync", "--once", "--offline"])).code).toBe(2);
  });
});

describe("one-shot commands and the relay", () => {
  it("[CP40] say that an entry is saved here and waits when the relay is down, and exit 0", async () => {
    const { relay, laptop } = await makeWorkspace();
    await relay.stop();
    const result = await laptop.run(["append", "Woods", "--role", "user", "Is anybody there?"]);
    expect(result.code).toBe(0);
    expect(result.stdout).toMatch(/^u {2}\S+\nsaved here; 1 entry waiting for the relay\n$/);
    const more = await laptop.runJson(["append", "Woods", "--role", "user", "Hello?", "--offline"]);
    expect(more.waiting).toBe(2);
  });

  it("[CP40] bring what waited to the relay once it is back (F7)", async () => {
    const { laptop, desktop } = await makeWorkspace();
    await laptop.runJson(["append", "Woods", "--role", "user", "Written offline", "--offline"]);
    const status = await laptop.runJson(["status", "--offline"]);
    expect(status.sessions[0]).toMatchObject({ entries: 4, pending: 1 });
    expect((await laptop.run(["sync", "--once"])).code).toBe(0);
    const log = await desktop.run(["log", "Woods", "--raw"]);
    expect(log.stdout).toContain("Written offline");
  });

  it("[CP41] read commands show what is here and say so when the relay does not answer", async () => {
    const { relay, laptop } = await makeWorkspace();
    await relay.stop();
    const online = await laptop.run(["log", "Woods"]);
    expect(online).toMatchObject({ code: 0, stdout: expect.stringContaining("What is a coppice?") });
    expect(online.stderr).toBe(
      "the relay cannot be reached; this is what is on this device (--offline does not wait)\n",
    );
    expect(await laptop.run(["log", "Woods", "--offline"])).toMatchObject({ code: 0, stderr: "" });
  });

  it("[CP41] fetch a session that this device has not heard of yet", async () => {
    const { desktop } = await makeWorkspace();
    expect(await desktop.run(["show", "Woods"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("A wood that grows again"),
    });
  });

  it("[CP42] do not connect with --offline", async () => {
    const { desktop } = await makeWorkspace();
    expect((await desktop.runJson(["sessions", "--offline"])).sessions).toEqual([]);
    expect(await desktop.run(["show", "Woods", "--offline"])).toMatchObject({ code: 1 });
  });
});

describe("a session that is listed but was never fetched", () => {
  it("[CP40] is not written to, with a sentence that says what to do", async () => {
    const { relay, desktop } = await makeWorkspace();
    await desktop.run(["sessions"]);
    await relay.stop();
    expect(await desktop.run(["append", "Woods", "--role", "user", "Too early", "--offline"])).toMatchObject({
      code: 1,
      stdout: "",
      stderr:
        "coppice: This device has not fetched all of Woods yet; run `coppice sync --once` when the relay can be reached, then try again.\n",
    });
  });
});

describe("status", () => {
  it("[CP89] begins its log with where it listens and ends it with its end", async () => {
    const data = await makeTempFolder();
    const relay = followCoppice(["serve", "--port", "0", "--data", data, "--log", "info"]);
    const { url } = await relay.waitFor(({ coppice }) => coppice === "serve");
    const { stderr } = await relay.stop();
    const lines = stderr
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ msg: "the relay listens", url, data });
    expect(lines.at(-1)).toMatchObject({ msg: "the relay has ended" });
  });

  it("[CP46] says what this device never fetched and what the relay was not asked about", async () => {
    const { relay, laptop, desktop } = await makeWorkspace();
    await desktop.run(["sessions"]);
    await relay.stop();
    expect((await desktop.run(["status"])).stdout).toContain(
      "session  Woods · 0 entries · 0 waiting · never fetched\n",
    );
    expect((await laptop.run(["status"])).stdout).toContain("session  Woods · 3 entries · 0 waiting · not reached\n");
    expect((await laptop.run(["status", "--offline"])).stdout).toContain("session  Woods · 3 entries · 0 waiting\n");
  });

  it("[CP46, CP44] asks the relay about every session, and sync --once fetches every one", async () => {
    const { laptop, desktop } = await makeWorkspace();
    const folder = await makeTempFolder();
    for (let at = 10; at < 30; at += 1)
      await writeSessionFile({ folder, name: `${at}.jsonl`, sessionId: `session-${at}` });
    await laptop.run(["import", folder]);
    expect((await laptop.run(["sync", "--once"])).stdout).toBe("synced 21 sessions · 0 entries fetched · 0 waiting\n");
    expect((await desktop.run(["sync", "--once"])).stdout).toBe(
      "synced 21 sessions · 63 entries fetched · 0 waiting\n",
    );
    const { sessions } = await desktop.runJson(["status"]);
    expect(sessions).toHaveLength(21);
    for (const session of sessions) expect(session).toMatchObject({ entries: 3, relay: { state: "live" }, pending: 0 });
  });
});

describe("a session that another device writes to all the time", () => {
  it("[WS11, CP40, CP44] is one a new device takes its place in, and sync --once ends", async () => {
    const { laptop, desktop } = await makeWorkspace();
    const writer = await keepAppending(await makeDevice("writer", (await laptop.runJson(["link"])).link));
    const { entryId } = await desktop.runJson(["append", "Woods", "--role", "user", "In between"]);
    const phone = await makeDevice("phone", (await laptop.runJson(["link"])).link);
    expect(await phone.run(["sync", "--once"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("0 waiting"),
    });
    expect(await writer.stop()).toBeGreaterThan(10);
    expect((await phone.run(["log", "Woods", "--raw"])).stdout).toContain(entryId);
  });
});

describe("sync", () => {
  it("[CP43, CP22] shows what one-shot commands append on its own home, brings it over, and shows the device's leaf as its cursor", async () => {
    const { laptop, desktop } = await makeWorkspace();
    const laptopSync = laptop.follow(["sync"]);
    const desktopSync = desktop.follow(["sync"]);
    await laptopSync.waitFor(hasEntries(3));
    await desktopSync.waitFor(hasEntries(3));

    // Without the running sync this entry would not leave the device.
    const { entryId } = await laptop.runJson(["append", "Woods", "--role", "user", "From the laptop", "--offline"]);
    await laptopSync.waitFor(hasEntries(4));
    await desktopSync.waitFor(hasEntries(4));

    const tree = await desktop.runJson(["tree", "Woods"]);
    expect(tree.leafId).toBe("e0000003");
    expect(tree.cursors).toContainEqual({
      id: expect.any(String),
      name: "laptop",
      replicaId: expect.any(String),
      leafId: entryId,
      self: false,
    });
    const drawn = await desktop.run(["tree", "Woods"]);
    expect(drawn.stdout).toMatch(/u {2}From the laptop +◀ laptop/);
    expect(drawn.stdout).toMatch(/◀ desktop/);
    expect(await laptopSync.stop("SIGINT")).toMatchObject({ code: 0, stderr: "" });
  });

  it("[CP43] notices sessions that are new on this device and on others", async () => {
    const { laptop, desktop } = await makeWorkspace();
    const laptopSync = laptop.follow(["sync"]);
    const desktopSync = desktop.follow(["sync"]);
    await desktopSync.waitFor(hasEntries(3));
    const sessionId = "0194c0de-0000-7000-8000-00000000ef01";
    await laptop.run(["import", await writeSessionFile({ sessionId }), "--offline"]);
    const isHere = (line: JsonLine): boolean => line.session?.id === sessionId && line.session.entries === 3;
    await laptopSync.waitFor(isHere);
    await desktopSync.waitFor(isHere);
  });

  it("[CP43] converges after the relay was away: same log, and nobody's leaf moved", async () => {
    const { relay, laptop, desktop } = await makeWorkspace();
    await desktop.runJson(["sync", "--once"]);
    const laptopSync = laptop.follow(["sync"]);
    const desktopSync = desktop.follow(["sync"]);
    await laptopSync.waitFor(hasEntries(3));
    await desktopSync.waitFor(hasEntries(3));
    await relay.stop();
    const left = await laptop.runJson(["append", "Woods", "--role", "user", "Left", "--offline"]);
    await desktop.runJson(["move", "Woods", "e0000001", "--offline"]);
    const right = await desktop.runJson(["append", "Woods", "--role", "user", "Right", "--offline"]);
    await startRelay(relay.dataFolder, relay.port);
    await laptopSync.waitFor(hasEntries(6));
    await desktopSync.waitFor(hasEntries(6));
    const [laptopTree, desktopTree] = await Promise.all([
      laptop.runJson(["tree", "Woods"]),
      desktop.runJson(["tree", "Woods"]),
    ]);
    expect(laptopTree.entries).toEqual(desktopTree.entries);
    expect([laptopTree.leafId, desktopTree.leafId]).toEqual([left.entryId, right.entryId]);
    expect(laptopTree.cursors).toContainEqual(expect.objectContaining({ name: "desktop", leafId: right.entryId }));
    expect(desktopTree.cursors).toContainEqual(expect.objectContaining({ name: "laptop", leafId: left.entryId }));
  });

  it("[CP46] prints plain lines that name the relay and each session", async () => {
    const { relay, laptop } = await makeWorkspace();
    const status = await laptop.run(["status"]);
    expect(status.stdout).toContain(`relay    ${relay.url}  online\n`);
    expect(status.stdout).toContain("session  Woods · 3 entries · 0 waiting\n");
  });
});

describe("a relay's data", () => {
  it("[CP45] is kept in the folder it is given and served again", async () => {
    const data = await makeTempFolder();
    const relay = await startRelay(data);
    const laptop = await makeDevice("laptop", relay.url);
    await laptop.run(["import", await writeSessionFile()]);
    await relay.stop();
    await startRelay(data, relay.port);
    const desktop = await makeDevice("desktop", (await laptop.runJson(["link"])).link);
    expect((await desktop.runJson(["sync", "--once"])).sessions).toMatchObject([{ name: "Woods", entries: 3 }]);
  });

  it("[CP45] is served by one relay at a time, and by the next one after a kill", async () => {
    const relay = await startRelay();
    const second = await runCoppice(["serve", "--port", "0", "--data", relay.dataFolder]);
    expect(second).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `coppice: A relay serves ${relay.dataFolder} already, at ${relay.url}; use that one, or choose another folder with --data.\n`,
    });
    await relay.stop("SIGKILL");
    await startRelay(relay.dataFolder);
  });
});

describe("append --resume", () => {
  it("[CP34, CP55] goes on after what other devices added in one line, and says so", async () => {
    const { laptop, desktop } = await makeWorkspace();
    await desktop.run(["sync", "--once"]);
    await laptop.run(["append", "Woods", "--role", "user", "One"]);
    const last = await laptop.runJson(["append", "Woods", "--role", "user", "Two"]);
    expect(last.resumed).toBeUndefined();
    const here = await desktop.runJson(["append", "Woods", "--role", "user", "Here"]);
    const resumed = { kind: "fast-forward", fromId: "e0000003", toId: last.entryId, entries: 2 };
    expect(here.resumed).toEqual({ ...resumed, devices: [expect.any(String)] });
    const { entries } = await desktop.runJson(["log", "Woods", "--offline"]);
    expect(entries.at(-1).entry).toMatchObject({ id: here.entryId, parentId: last.entryId });
  });

  it("[CP34] stays by own, goes to the last work by latest, names who was there", async () => {
    const { laptop, desktop } = await makeWorkspace();
    await desktop.run(["sync", "--once"]);
    await laptop.run(["append", "Woods", "--role", "user", "One"]);
    const own = await desktop.run(["append", "Woods", "--role", "user", "Aside", "--resume", "own"]);
    expect(own).toMatchObject({ code: 0, stderr: "" });
    const latest = await laptop.run(["append", "Woods", "--role", "user", "Two", "--resume", "latest"]);
    expect(latest).toMatchObject({ code: 0, stderr: "went to where desktop worked last\n" });
  });

  it("[CP34] counts the entries in the remark; another word is wrong usage", async () => {
    const { laptop, desktop } = await makeWorkspace();
    await desktop.run(["sync", "--once"]);
    await laptop.run(["append", "Woods", "--role", "user", "One"]);
    const result = await desktop.run(["append", "Woods", "--role", "user", "Two"]);
    expect(result.stderr).toBe("continued on laptop: 1 entry\n");
    const wrong = await laptop.run(["append", "Woods", "--role", "user", "One", "--resume", "mine"]);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('--resume is "mine"; it can be own, fast-forward, latest.');
  });
});
