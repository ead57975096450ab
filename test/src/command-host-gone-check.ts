import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningCommand, runCommandJson, runCommandWell, startCommand } from "./command-process.ts";
import { type NetworkCheck, showMs } from "./network-lab.ts";
import type { PlainSessionFile } from "./session-files.ts";

/** The same promise as `createHostGoneChecks`, through the `coppice` command alone. */
export function createCommandHostGoneCheck(file: PlainSessionFile, count: number): NetworkCheck {
  return {
    name: "[SM30] the host gone, through the command alone",
    async run() {
      const scratch = mkdtempSync(join(tmpdir(), "coppice-host-gone-"));
      const running: RunningCommand[] = [];
      try {
        return await goOnWithCommands(scratch, running, file, count);
      } finally {
        for (const command of running) await command.stop("SIGKILL");
        rmSync(scratch, { recursive: true, force: true });
      }
    },
  };
}

async function goOnWithCommands(
  scratch: string,
  running: RunningCommand[],
  file: PlainSessionFile,
  count: number,
): Promise<string> {
  const { sessionId } = file;
  const lines = file.entryLines.slice(0, count);
  const serve = startCommand(["serve", "--data", join(scratch, "relay"), "--port", "0"]);
  running.push(serve);
  const { url } = await serve.waitForLine((line) => line.coppice === "serve");
  const homeOf = (name: string): string[] => ["--home", join(scratch, name)];
  const [a, b, c] = ["a", "b", "c"].map(homeOf) as [string[], string[], string[]];
  await runCommandWell(["init", url, "--name", "laptop", ...a]);
  const { link } = await runCommandJson(["link", ...a]);
  await runCommandWell(["init", link, "--name", "desktop", ...b]);

  const path = join(scratch, "session.jsonl");
  writeFileSync(path, [file.headerLine, ...lines].join("\n"));
  await runCommandWell(["import", path, ...a]);
  const { leafId, waiting } = await runCommandJson(["append", sessionId, "--role", "user", "last words", ...a]).then(
    ({ entryId, waiting }) => ({ leafId: entryId as string, waiting: waiting as number }),
  );
  assert.equal(waiting, 0, "everything of the host is at the relay");
  const readContext = async (home: readonly string[]): Promise<unknown> =>
    (await runCommandJson(["show", sessionId, "--context", ...home])).context;
  const readRawLog = async (home: readonly string[]): Promise<string[]> =>
    (await runCommandWell(["log", sessionId, "--raw", ...home])).split("\n").filter((line) => line !== "");
  const context = await readContext(a);
  const log = await readRawLog(a);
  assert.deepEqual(log.slice(0, -1), lines, "the host's log");
  rmSync(join(scratch, "a"), { recursive: true });

  const startedAt = performance.now();
  const onB = await runCommandJson(["append", sessionId, "--role", "user", "goes on", ...b]);
  const continuedMs = performance.now() - startedAt;
  // Paired by a link of the device that is left.
  const { link: other } = await runCommandJson(["link", ...b]);
  await runCommandWell(["init", other, "--name", "phone", ...c]);
  await runCommandWell(["sync", "--once", ...c]);
  const onC = await runCommandJson(["append", sessionId, "--role", "user", "goes on further", ...c]);
  await runCommandWell(["sync", "--once", ...b]);
  for (const home of [b, c]) {
    const there = await readRawLog(home);
    assert.deepEqual(there.slice(0, log.length), log, "the log of a device that is left");
    const added = there.slice(log.length).map((line) => JSON.parse(line) as { id: string; parentId: string });
    const places = added.map(({ id, parentId }) => [id, parentId]);
    assert.deepEqual(places, [
      [onB.entryId, leafId],
      [onC.entryId, onB.entryId],
    ]);
  }
  const { messages } = (await readContext(c)) as { messages: unknown[] };
  assert.deepEqual(messages.slice(0, -2), (context as { messages: unknown[] }).messages, "the context");
  return `${lines.length} entries; the first command on the other device ended after ${showMs(continuedMs)}`;
}
