/**
 * Measures what two devices and a relay promise, on session files of yours and through the `coppice` command alone:
 *
 *   node examples/two-devices/check-devices.mjs FOLDER
 *
 * 1. Every file of format 3, imported on one device and synced to another, has the same entry lines there, byte for
 *    byte; importing it again writes nothing.
 * 2. On the largest file: both devices append and branch while the relay is down; how long until both hold the same
 *    log after it is back, and until each sees the other's cursor.
 * 3. Ten times: the relay is killed (SIGKILL) while that file is imported, and started again; nothing is lost or doubled.
 *
 * Prints a line with figures for each; exits 1 when one does not hold.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { followCoppice, runCoppice, runCoppiceJson } from "./coppice-process.mjs";

const killRounds = 10;
const convergenceLimitMs = 3000;
const cursorLimitMs = 1000;

const folder = process.argv[2];
if (folder === undefined) {
  console.error("Name a folder of session files: node examples/two-devices/check-devices.mjs FOLDER");
  process.exit(2);
}

const work = await mkdtemp(join(tmpdir(), "coppice-check-"));
const relayFolder = join(work, "relay");
let relay = followCoppice(["serve", "--port", "0", "--data", relayFolder]);
const { url, port } = await relay.waitFor((line) => line.coppice === "serve");
const laptop = makeDevice("laptop");
const desktop = makeDevice("desktop");
const running = [];
let failures = 0;

try {
  await laptop.run("init", url, "--name", "laptop");
  await desktop.run("init", (await laptop.runJson("link")).link, "--name", "desktop");
  const files = await readSessionFiles(folder);
  await checkFiles(files);
  const largest = files.reduce((left, right) => (right.text.length > left.text.length ? right : left));
  await checkOffline(largest.id);
  await checkKills(largest);
} catch (error) {
  report(false, error.message);
} finally {
  for (const command of running) await command.stop();
  await relay.stop();
  await rm(work, { recursive: true, force: true });
}
process.exitCode = failures === 0 ? 0 : 1;

async function checkFiles(files) {
  const startedMs = performance.now();
  let entries = 0;
  for (const { path } of files) entries += (await laptop.runJson("import", path)).files[0].written;
  await desktop.run("sync", "--once");
  const differing = [];
  for (const { path, id, lines } of files) {
    if ((await desktop.readLog(id)).join("\n") !== lines.join("\n")) differing.push(basename(path));
    if ((await laptop.runJson("import", path)).files[0].written !== 0) differing.push(`${basename(path)} (again)`);
  }
  report(
    differing.length === 0,
    `${files.length} files, ${entries} entries: imported, synced, compared, imported again in ${seconds(startedMs)}; ${differing.length} differ ${differing.join(" ")}`,
  );
}

async function checkOffline(id) {
  const [laptopSync, desktopSync] = [laptop, desktop].map((device) => followCoppice(["sync", ...device.homeArgs]));
  running.push(laptopSync, desktopSync);
  const before = await desktop.runJson("tree", id);
  const isAt = (count) => (line) =>
    line.session?.id === id && line.session.entries === count && line.session.pending === 0 && line.session.synced;
  await Promise.all([laptopSync, desktopSync].map((sync) => sync.waitFor(isAt(before.entries.length))));

  await relay.stop();
  const middle = before.entries[Math.floor(before.entries.length / 2)].id;
  await laptop.runJson("append", id, "--role", "user", "laptop, at the same leaf", "--offline");
  await desktop.runJson("append", id, "--role", "user", "desktop, at the same leaf", "--offline");
  await desktop.runJson("move", id, middle, "--offline");
  const leaves = [
    (await laptop.runJson("append", id, "--role", "assistant", "laptop, one more", "--offline")).entryId,
    (await desktop.runJson("append", id, "--role", "user", "desktop, elsewhere", "--offline")).entryId,
  ];

  relay = await startRelay();
  const startedMs = performance.now();
  await Promise.all([laptopSync, desktopSync].map((sync) => sync.waitFor(isAt(before.entries.length + 5))));
  const convergedMs = performance.now() - startedMs;
  const cursorStartMs = performance.now();
  const trees = await Promise.all([laptop, desktop].map((device) => device.runJson("tree", id)));
  const cursorMs = performance.now() - cursorStartMs;
  const logs = await Promise.all([laptop.readLog(id), desktop.readLog(id)]);

  report(
    convergedMs <= convergenceLimitMs && logs[0].join("\n") === logs[1].join("\n"),
    `after the relay was away: same log of ${logs[0].length} entries on both in ${convergedMs.toFixed(0)} ms`,
  );
  report(
    JSON.stringify(trees[0].entries) === JSON.stringify(trees[1].entries) &&
      trees.every((tree, index) => tree.leafId === leaves[index]),
    "same tree on both, nobody's leaf moved",
  );
  const seesOther = trees.every((tree, index) => tree.cursors.some((cursor) => cursor.leafId === leaves[1 - index]));
  report(
    seesOther && cursorMs <= cursorLimitMs,
    `each sees the other's cursor, ${cursorMs.toFixed(0)} ms with the start of the command`,
  );
  while (running.length > 0) await running.pop().stop();
}

async function checkKills(file) {
  let waiting = 0;
  let differing = 0;
  const startedMs = performance.now();
  // The kills are spread over the time one import takes, its start-up included.
  const importMs = await measure(() => laptop.run("import", file.path));
  for (let round = 0; round < killRounds; round += 1) {
    const id = crypto.randomUUID();
    const path = join(work, `round-${round}.jsonl`);
    await writeFile(path, file.text.replace(file.id, id));
    const importing = laptop.runJson("import", path);
    await new Promise((resolve) => setTimeout(resolve, (importMs * (round + 1)) / killRounds));
    await relay.stop("SIGKILL");
    waiting += (await importing).waiting;
    relay = await startRelay();
    await laptop.run("sync", "--once");
    await desktop.run("sync", "--once");
    for (const device of [laptop, desktop]) {
      if ((await device.readLog(id)).join("\n") !== file.lines.join("\n")) differing += 1;
    }
  }
  report(
    differing === 0,
    `${killRounds} kills of the relay during an import of ${file.lines.length} entries in ${seconds(startedMs)}; ${waiting} entries had to wait, ${differing} logs differ`,
  );
}

function makeDevice(name) {
  const homeArgs = ["--home", join(work, name)];
  return {
    homeArgs,
    run: (...args) => runCoppice([...args, ...homeArgs]),
    runJson: (...args) => runCoppiceJson([...args, ...homeArgs]),
    readLog: async (id) =>
      (await runCoppice(["log", id, "--raw", "--offline", ...homeArgs])).split("\n").filter((line) => line !== ""),
  };
}

async function startRelay() {
  const started = followCoppice(["serve", "--port", String(port), "--data", relayFolder]);
  await started.waitFor((line) => line.coppice === "serve");
  return started;
}

/** Files of format 3; others are migrated by an import, so their lines cannot be compared. */
async function readSessionFiles(path) {
  const names = (await readdir(path)).filter((name) => name.endsWith(".jsonl")).sort();
  const files = [];
  for (const name of names) {
    const text = await readFile(join(path, name), "utf8");
    const [headerLine, ...lines] = text.split("\n").filter((line) => line !== "");
    const header = JSON.parse(headerLine);
    if (header.version === 3) files.push({ path: join(path, name), id: header.id, text, lines });
  }
  if (files.length === 0) throw new Error(`There is no session file of format 3 in ${path}.`);
  return files;
}

async function measure(act) {
  const startedMs = performance.now();
  await act();
  return performance.now() - startedMs;
}

function seconds(sinceMs) {
  return `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;
}

function report(holds, text) {
  if (!holds) failures += 1;
  console.log(`${holds ? "ok    " : "FAILED"}  ${text}`);
}
