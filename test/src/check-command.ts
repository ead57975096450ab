/**
 * Runs the promises of the `coppice` command on any folder of session files, through the command alone:
 * `node test/dist/check-command.js DIR`. One line per check with its figures; exit 1 when one fails, 2 when misused.
 */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parsePairingLink } from "@coppice/client";
import { type RunningCommand, runCommand, runCommandJson, runCommandWell, startCommand } from "./command-process.ts";
import { startDeviceProcess } from "./processes.ts";
import { runChecks } from "./run-checks.ts";
import { type PlainSessionFile, readPlainSessionFiles } from "./session-files.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined || !existsSync(folder)) {
  console.error("usage: check-command.js DIR, a folder of session files");
  process.exit(2);
}
const files = readPlainSessionFiles(folder);
const largest = files.reduce((most, next) => (next.entryLines.length > most.entryLines.length ? next : most));
const biggest = files.reduce((most, next) => (bytesOf(next) > bytesOf(most) ? next : most));
/** Bounds a wait that hangs; nothing waits this long when all is well. */
const patientMs = 60_000;
const killRounds = Number(process.env.KILL_ROUNDS ?? 10);

process.exit(
  await runChecks([
    { name: "every file through the commands alone", run: () => inLab(transferEveryFile) },
    {
      name: "relay away, both append to one leaf and branch elsewhere, relay back",
      run: () => inLab(divergeAndMeet),
    },
    { name: `kill -9 of the relay during an import, ${killRounds} rounds`, run: () => inLab(surviveKills) },
  ]),
);

/** A relay, homes and running commands of one check. */
interface Lab {
  readonly scratch: string;
  readonly running: Set<{ stop(signal?: NodeJS.Signals): Promise<void> }>;
}

async function inLab(run: (lab: Lab) => Promise<string>): Promise<string> {
  const lab = { scratch: mkdtempSync(join(tmpdir(), "coppice-command-")), running: new Set<RunningCommand>() } as Lab;
  try {
    return await run(lab);
  } finally {
    for (const command of lab.running) await command.stop("SIGKILL");
    rmSync(lab.scratch, { recursive: true, force: true });
  }
}

async function transferEveryFile(lab: Lab): Promise<string> {
  const { url } = await serve(lab);
  const [a, b] = await pair(lab, url);
  let entries = 0;
  for (const file of files) {
    const imported = await runCommandJson(["import", file.path, ...a]);
    assert.equal(imported.files[0].written, file.entryLines.length, `${file.name}: written`);
    await runCommandWell(["sync", "--once", ...b]);
    assert.deepEqual(await readRawLog(file, b), file.entryLines, `${file.name}: the raw log on B`);
    const again = await runCommandJson(["import", file.path, ...a]);
    assert.equal(again.files[0].written, 0, `${file.name}: imported again`);
    entries += file.entryLines.length;
  }
  return `${files.length} files, ${entries} entries: 0 lines differ, imported again: 0 written`;
}

async function divergeAndMeet(lab: Lab): Promise<string> {
  const relay = await serve(lab);
  const [a, b] = await pair(lab, relay.url);
  const id = largest.sessionId;
  await runCommandWell(["import", largest.path, ...a]);
  await runCommandWell(["sync", "--once", ...b]);
  const syncs = [a, b].map((home) => start(lab, ["sync", ...home]));
  for (const sync of syncs)
    await sync.waitForLine((line) => line.session?.id === id && line.session.relay.state === "live");
  await relay.command.stop();

  const fork = (JSON.parse(largest.entryLines[Math.floor(largest.entryLines.length / 2)] ?? "") as { id: string }).id;
  await runCommandWell(["append", id, "--role", "user", "laptop goes on", "--offline", ...a]);
  await runCommandWell(["append", id, "--role", "user", "desktop goes on", "--offline", ...b]);
  await runCommandWell(["move", id, fork, "--offline", ...b]);
  const leafB = (await runCommandJson(["append", id, "--role", "user", "another way", "--offline", ...b])).entryId;
  const leafA = (await runCommandJson(["append", id, "--role", "user", "further", "--offline", ...a])).entryId;

  const total = largest.entryLines.length + 5;
  const startedAt = performance.now();
  await serve(lab, relay.port);
  for (const sync of syncs)
    await sync.waitForLine(
      (line) => line.session?.id === id && line.session.entries === total && line.session.pending === 0,
    );
  const convergedMs = performance.now() - startedAt;
  const [logA, logB] = [await readRawLog(largest, a), await readRawLog(largest, b)];
  assert.equal(logA.length, total);
  assert.deepEqual(logA, logB, "the logs");
  const [treeA, treeB] = [await runCommandJson(["tree", id, ...a]), await runCommandJson(["tree", id, ...b])];
  assert.deepEqual(treeA.entries, treeB.entries, "the trees");
  assert.deepEqual([treeA.leafId, treeB.leafId], [leafA, leafB], "the leaves");
  const sees = (tree: typeof treeA, name: string, leafId: string): boolean =>
    tree.cursors.some((cursor: { name?: string; leafId: string }) => cursor.name === name && cursor.leafId === leafId);
  assert.ok(sees(treeA, "desktop", leafB) && sees(treeB, "laptop", leafA), "the cursors");
  const cursorMs = await measureCursor(lab, a, id, relay.url);
  return `${total} entries, same log and tree ${Math.round(convergedMs)} ms after the relay's start (process start included), both leaves kept, both cursors seen; an append of one process shown as the cursor of the device's running sync to a third device ${Math.round(cursorMs)} ms after it ended (median of 5)`;
}

/** From the end of a one-shot append to a third device seeing the new leaf as the cursor of A's running sync. */
async function measureCursor(lab: Lab, a: readonly string[], id: string, relay: string): Promise<number> {
  const { link } = await runCommandJson(["link", ...a]);
  const { workspaceKey } = parsePairingLink(link);
  const observer = startDeviceProcess();
  lab.running.add({ stop: () => observer.kill() });
  const keyHex = Buffer.from(workspaceKey).toString("hex");
  await observer.ask("open", { home: join(lab.scratch, "observer"), relay, keyHex, name: "observer" });
  assert.ok(await observer.ask("attach", { sessionId: id, timeoutMs: patientMs }));
  const times: number[] = [];
  for (let at = 0; at < 5; at += 1) {
    const leafId = (await runCommandJson(["append", id, "--role", "user", `where am I ${at}`, "--offline", ...a]))
      .entryId;
    const startedAt = performance.now();
    while (!(await observer.ask("cursors", { sessionId: id })).some((cursor) => cursor.leafId === leafId)) {
      assert.ok(performance.now() - startedAt < patientMs, "the sync shows the device's leaf");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    times.push(performance.now() - startedAt);
  }
  return times.sort((left, right) => left - right)[2] ?? Number.NaN;
}

async function surviveKills(lab: Lab): Promise<string> {
  let relay = await serve(lab);
  for (let round = 0; round < killRounds; round += 1) {
    const [a, b] = await pair(lab, relay.url, `round-${round}`);
    const importing = runCommand(["import", biggest.path, ...a]);
    await new Promise((resolve) => setTimeout(resolve, 250 + round * 130));
    await relay.command.stop("SIGKILL");
    const { code, stderr } = await importing;
    assert.equal(code, 0, `round ${round}: the import itself succeeds: ${stderr}`);
    relay = await serve(lab, relay.port);
    await runCommandWell(["sync", "--once", ...a]);
    await runCommandWell(["sync", "--once", ...b]);
    for (const home of [a, b]) assert.deepEqual(await readRawLog(biggest, home), biggest.entryLines, `round ${round}`);
  }
  return `${biggest.entryLines.length} entries each round on both devices, 0 lost, 0 doubled`;
}

async function serve(lab: Lab, port = 0): Promise<{ command: RunningCommand; url: string; port: number }> {
  const command = start(lab, ["serve", "--data", join(lab.scratch, "relay"), "--port", String(port)]);
  const { url } = await command.waitForLine((line) => line.coppice === "serve");
  return { command, url, port: Number(new URL(url).port) };
}

/** Two homes of one new workspace; the arguments that name them. */
async function pair(lab: Lab, url: string, name = "pair"): Promise<[string[], string[]]> {
  const [a, b] = ["laptop", "desktop"].map((device) => ["--home", join(lab.scratch, name, device)]) as [
    string[],
    string[],
  ];
  await runCommandWell(["init", url, "--name", "laptop", ...a]);
  const { link } = await runCommandJson(["link", ...a]);
  await runCommandWell(["init", link, "--name", "desktop", ...b]);
  return [a, b];
}

function start(lab: Lab, args: readonly string[]): RunningCommand {
  const command = startCommand(args);
  lab.running.add(command);
  return command;
}

async function readRawLog(file: PlainSessionFile, home: readonly string[]): Promise<string[]> {
  const raw = await runCommandWell(["log", file.sessionId, "--raw", "--offline", ...home]);
  return raw.split("\n").filter((line) => line !== "");
}

function bytesOf(file: PlainSessionFile): number {
  return file.entryLines.reduce((sum, line) => sum + line.length, 0);
}
