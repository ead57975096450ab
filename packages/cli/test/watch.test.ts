import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { CommandRunner } from "../src/command-runner.ts";
import { userEntry } from "./support/make-entries.ts";
import { makeDevice, makeTempFolder, requireFreshBuild, startRelay, type TestDevice } from "./support/run-coppice.ts";
import { shortSession, shortSessionId, writeSessionFile } from "./support/session-files.ts";

beforeAll(requireFreshBuild);

const otherSessionId = "0194c0de-0000-7000-8000-00000000beef";

/** Two devices of one workspace, with the short session on both. */
async function makePair(): Promise<{ laptop: TestDevice; desktop: TestDevice }> {
  const relay = await startRelay();
  const laptop = await makeDevice("laptop", relay.url);
  await laptop.runJson(["import", await writeSessionFile()]);
  const { link } = await laptop.runJson(["link"]);
  const desktop = await makeDevice("desktop", link);
  await desktop.runJson(["sync", "--once"]);
  return { laptop, desktop };
}

describe("watch", () => {
  it("[CP84, CP92] prints what another device appends, exact, with session and device, and nothing that was there", async () => {
    const { laptop, desktop } = await makePair();
    const watching = desktop.follow(["watch"]);
    expect(await watching.waitFor(() => true)).toEqual({ coppice: "watch", version: 1, sessions: 1 });
    const { entryId } = await laptop.runJson(["append", "Woods", "--role", "user", "And a pollard?"]);
    const line = await watching.waitFor(({ entry }) => entry?.id === entryId);
    const { stdout: raw } = await laptop.run(["log", "Woods", "--raw"]);
    expect(line).toEqual({
      coppice: "watch",
      version: 1,
      session: { id: shortSessionId, name: "Woods" },
      device: { id: expect.any(String), name: "laptop" },
      entry: JSON.parse(raw.trimEnd().split("\n").at(-1) ?? ""),
    });
    const ended = await watching.stop();
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout.split("\n")).toHaveLength(2);
  });

  it("[CP84] shows every entry of a session that is listed later, and only the named session when one is named", async () => {
    const { laptop, desktop } = await makePair();
    const all = desktop.follow(["watch"]);
    const one = desktop.follow(["watch", "Woods"]);
    await Promise.all([all.waitFor(() => true), one.waitFor(() => true)]);
    const entries = [userEntry("f0000001", null), userEntry("f0000002", "f0000001")];
    await laptop.runJson(["import", await writeSessionFile({ sessionId: otherSessionId, entries })]);
    for (const { id } of entries) {
      const line = await all.waitFor(({ entry }) => entry?.id === id);
      expect(line.session.id).toBe(otherSessionId);
    }
    const { entryId } = await laptop.runJson(["append", "Woods", "--role", "user", "Still there?"]);
    await one.waitFor(({ entry }) => entry?.id === entryId);
    expect((await one.stop()).stdout).not.toContain(otherSessionId);
  });

  it("[CP84] names a session that is not there in one sentence", async () => {
    const device = await makeDevice("laptop");
    expect(await device.run(["watch", "zzz"])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: 'coppice: No session is called or starts or ends with "zzz"; `coppice sessions` lists them.\n',
    });
  });

  it("[CP85] --exec gets the JSON of each entry, one run after another, and goes on after one that fails", async () => {
    const { laptop, desktop } = await makePair();
    const folder = await makeTempFolder();
    const written = join(folder, "written");
    // Fails at the first entry, after having written it; a second run at the same time would mix the lines.
    const script = `cat >> ${written}; echo "$COPPICE_SESSION $COPPICE_ENTRY" >> ${written}; echo done; grep -q second ${written}`;
    const watching = desktop.follow(["watch", "Woods", "--exec", script]);
    await watching.waitFor(() => true);
    const first = await laptop.runJson(["append", "Woods", "--role", "user", "first"]);
    const second = await laptop.runJson(["append", "Woods", "--role", "user", "second"]);
    await laptop.runJson(["append", "Woods", "--role", "user", "third"]);
    await watching.waitFor(({ entry }) => entry?.message?.content?.[0]?.text === "third");
    // The third run has ended when its last line is there.
    await expect
      .poll(async () => (await readFile(written, "utf8").catch(() => "")).trimEnd().split("\n").length, {
        timeout: 30_000,
      })
      .toBe(6);
    const { stderr, code } = await watching.stop();
    expect(code).toBe(0);
    // With --json, stdout holds this command's own lines alone.
    expect(stderr.split("\n").filter((line) => line === "done").length).toBeGreaterThanOrEqual(2);
    expect(stderr).toContain(`the command for entry ${first.entryId.slice(-8)} ended with exit code 1\n`);
    expect(stderr).not.toContain(second.entryId.slice(-8));
    const lines = (await readFile(written, "utf8")).trimEnd().split("\n");
    const raw = (await laptop.run(["log", "Woods", "--raw"])).stdout.trimEnd().split("\n").slice(shortSession.length);
    expect(lines.filter((_, index) => index % 2 === 0)).toEqual(raw);
    expect(lines[1]).toBe(`${shortSessionId} ${first.entryId}`);
  });

  it.each([
    [["watch", "--timeout", "0"], '--timeout takes a number of seconds from 1 to 86400, not "0".'],
    [["watch", "--exec", " "], "--exec is empty; write the command to run, in quotes."],
  ])("[CP1, CP85] %j is wrong usage", async (args, sentence) => {
    const device = await makeDevice("laptop");
    expect(await device.run(args)).toMatchObject({ code: 2, stdout: "", stderr: `coppice: ${sentence}\n` });
  });
});

describe("a command that is run for each entry", () => {
  /** A runner, what its runs wrote, and what went wrong with them. */
  function makeRunner(command: string, limits: { timeoutMs?: number; maxWaiting?: number } = {}) {
    const lines: string[] = [];
    const failures: string[] = [];
    const runner = new CommandRunner({
      command,
      timeoutMs: limits.timeoutMs ?? 60_000,
      maxWaiting: limits.maxWaiting ?? 100,
      env: { PATH: process.env.PATH },
      onLine: (_, line) => lines.push(line),
    });
    const add = (name: string): Promise<void> =>
      new Promise((resolve) => {
        runner.add({
          readInput: async () => name,
          env: { NAME: name },
          onFailure: (why) => {
            failures.push(`${name} ${why}`);
            resolve();
          },
        });
      });
    return { runner, lines, failures, add };
  }

  it("[CP85] ends a run that takes too long, with all that it has started", async () => {
    const { runner, failures, add } = makeRunner("sleep 1000 | cat", { timeoutMs: 50 });
    await add("a");
    expect(failures).toEqual(["a was ended after 0.05 s"]);
    await runner.close();
  });

  it("[CP85] holds a bounded number of runs, says which were too many, and leaves the waiting out at its end", async () => {
    const { runner, failures, add } = makeRunner("sleep 1000", { maxWaiting: 2 });
    // The first one begins at once and waits no more.
    const running = add("a");
    void add("b");
    void add("c");
    await add("d");
    expect(failures).toEqual(["d was not run: 2 runs wait already"]);
    expect(await runner.close()).toBe(2);
    await running;
    expect(failures).toEqual(["d was not run: 2 runs wait already", "a was ended: it was stopped"]);
  });

  it("[CP85] does not mind a command that does not read, is not there, or an environment that cannot be", async () => {
    const { runner, lines, failures, add } = makeRunner('[ "$NAME" = a ] && echo "not read" && false');
    await add("a");
    await add("nul\u0000");
    await runner.close();
    expect(lines).toEqual(["not read"]);
    expect(failures[0]).toBe("a ended with exit code 1");
    expect(failures[1]).toMatch(/could not be run: /);
    const missing = makeRunner("/nowhere/at-all");
    await missing.add("a");
    expect(missing.failures).toEqual(["a ended with exit code 127"]);
    await missing.runner.close();
  });
});
