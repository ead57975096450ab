/**
 * Runs the promises of the network on any folder of session files, with a real relay process and device processes on
 * stores of their own: `node test/dist/check-network.js DIR`. One line per check, exit 1 when one fails.
 */
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DeviceSnapshot } from "./device-calls.ts";
import { type DeviceProcess, type RelayProcess, startDeviceProcess, startRelayProcess } from "./processes.ts";
import { collectSecrets, findSecrets, readFolderBytes } from "./readable-words.ts";
import { type PlainSessionFile, readPlainSessionFiles } from "./session-files.ts";
import { startTrafficRecorder } from "./traffic-recorder.ts";
import { countTree } from "./tree-oracle.ts";

const folder = process.argv[2];
if (folder === undefined || !existsSync(folder)) {
  console.error("usage: check-network.js DIR, a folder of session files");
  process.exit(2);
}
const killRounds = Number(process.env.KILL_ROUNDS ?? 10);
const keyHex = "5a".repeat(32);
const patientMs = 60_000;
const scratch = mkdtempSync(join(tmpdir(), "coppice-network-"));
const cleanups: (() => Promise<void>)[] = [];
let passed = 0;
let failed = 0;

const files = readPlainSessionFiles(folder);
assert.ok(files.length > 0, `no format 3 session file in ${folder}`);
const expectedPath = join(folder, "expected.json");
const expected = existsSync(expectedPath)
  ? (JSON.parse(readFileSync(expectedPath, "utf8")) as { [file: string]: { [count: string]: number } })
  : {};

await check("every file imported on A appears on B, each entry's text as in the file", importOnceSeeTwice);
await check("relay away, both append to one leaf and branch elsewhere, relay back", divergeAndMeet);
await check(`kill -9 of the relay while both write, ${killRounds} rounds`, surviveKills);
await check("the relay's data and the traffic hold nothing readable", keepSecrets);
rmSync(scratch, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function check(name: string, run: () => Promise<string>): Promise<void> {
  try {
    const figures = await run();
    passed += 1;
    console.log(`pass  ${name}: ${figures}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  }
}

async function importOnceSeeTwice(): Promise<string> {
  const relay = await startRelay("import-relay");
  const a = await startDevice("a", "import-a", relay.url);
  const b = await startDevice("b", "import-b", relay.url);
  let entries = 0;
  for (const file of files) {
    const imported = await a.ask("importFile", { path: file.path });
    assert.equal(imported.written, file.entryLines.length, `${file.name}: entries written`);
    assert.ok(await b.ask("attach", { sessionId: file.sessionId, timeoutMs: patientMs }), `${file.name}: B synced`);
    assert.ok(await a.ask("waitAcknowledged", { sessionId: file.sessionId, timeoutMs: patientMs }));
    await untilEqual(file.name, b, file.sessionId, ({ lines }) => lines.length, file.entryLines.length);
    const { lines } = await b.ask("snapshot", { sessionId: file.sessionId });
    assert.deepEqual(lines, file.entryLines, `${file.name}: lines on B`);
    assertCounts(file, lines);
    const again = await a.ask("importFile", { path: file.path });
    assert.deepEqual([again.written, again.known], [0, file.entryLines.length], `${file.name}: imported again`);
    entries += lines.length;
  }
  const c = await startDevice("c", "import-c", relay.url, "7b".repeat(32));
  const d = await startDevice("d", "import-d", relay.url, "7b".repeat(32));
  for (const file of files) {
    await Promise.all([c.ask("importFile", { path: file.path }), d.ask("importFile", { path: file.path })]);
    for (const device of [c, d])
      assert.ok(await device.ask("waitAcknowledged", { sessionId: file.sessionId, timeoutMs: patientMs }));
    const both = await untilSame(file.name, c, d, file.sessionId);
    assert.deepEqual([...both].sort(), [...file.entryLines].sort(), `${file.name}: imported on both at once`);
  }
  return `${files.length} files, ${entries} entries; imported again: 0 written; on two at once: each entry once`;
}

async function divergeAndMeet(): Promise<string> {
  const file = largestFile();
  const relay = await startRelay("diverge-relay");
  const a = await startDevice("a", "diverge-a", relay.url);
  const b = await startDevice("b", "diverge-b", relay.url);
  const { sessionId } = file;
  await a.ask("importFile", { path: file.path });
  assert.ok(await a.ask("waitAcknowledged", { sessionId, timeoutMs: patientMs }));
  assert.ok(await b.ask("attach", { sessionId, timeoutMs: patientMs }));
  await relay.stop();

  const fork = (JSON.parse(file.entryLines[Math.floor(file.entryLines.length / 2)] ?? "") as { id: string }).id;
  await a.ask("append", { sessionId, text: "laptop goes on" });
  await b.ask("append", { sessionId, text: "desktop goes on" });
  await b.ask("move", { sessionId, entryId: fork });
  await b.ask("append", { sessionId, text: "desktop tries another way" });
  await a.ask("append", { sessionId, text: "laptop goes further" });
  const before = { a: await a.ask("snapshot", { sessionId }), b: await b.ask("snapshot", { sessionId }) };
  assert.ok((await a.ask("pending", { sessionId })).pending > 0, "A has entries waiting");

  const startedAt = performance.now();
  await startRelay("diverge-relay", relay.port);
  const lines = await untilSame("after the relay is back", a, b, sessionId, file.entryLines.length + 5);
  const convergedMs = performance.now() - startedAt;
  for (const [name, device, other] of [["a", a, "b"] as const, ["b", b, "a"] as const]) {
    const { leafId } = await device.ask("snapshot", { sessionId });
    assert.equal(leafId, before[name].leafId, `${name}'s leaf stayed`);
    await untilTrue(`${name} sees the other's cursor`, async () => {
      const cursors = await device.ask("cursors", { sessionId });
      return cursors.some(({ deviceName, leafId: at }) => deviceName === other && at === before[other].leafId);
    });
  }
  const cursorsMs = performance.now() - startedAt;
  return `${lines.length} entries, same order and tree after ${Math.round(convergedMs)} ms, both cursors after ${Math.round(cursorsMs)} ms, both leaves kept`;
}

async function surviveKills(): Promise<string> {
  const file = files.reduce((least, next) => (next.entryLines.length < least.entryLines.length ? next : least));
  const { sessionId } = file;
  let relay = await startRelay("kill-relay");
  const a = await startDevice("a", "kill-a", relay.url);
  const b = await startDevice("b", "kill-b", relay.url);
  await a.ask("importFile", { path: file.path });
  assert.ok(await a.ask("waitAcknowledged", { sessionId, timeoutMs: patientMs }));
  assert.ok(await b.ask("attach", { sessionId, timeoutMs: patientMs }));
  const acknowledged = new Set<string>();
  let appended = 0;
  for (let round = 0; round < killRounds; round += 1) {
    let writing = true;
    const write = async (device: DeviceProcess, name: string): Promise<void> => {
      for (let batch = 0; writing; batch += 1) {
        const texts = Array.from({ length: 5 }, (_, at) => `round ${round} ${name} ${batch}.${at}`);
        const ids = await device.ask("appendMany", { sessionId, texts });
        appended += ids.length;
        if (await device.ask("waitAcknowledged", { sessionId, timeoutMs: 200 }))
          for (const id of ids) acknowledged.add(id);
      }
    };
    const writers = [write(a, "a"), write(b, "b")];
    await new Promise((resolve) => setTimeout(resolve, 100 + ((round * 37) % 150)));
    await relay.kill();
    writing = false;
    await Promise.all(writers);
    const seen = await seenByTheOther(a, b, sessionId);
    // The devices hold everything and would send it again; only a relay on a copy, without them, shows what it kept.
    const kept = await readWithFreshDevice(relay.dataDir, round, sessionId);
    for (const id of [...acknowledged, ...seen]) assert.ok(kept.has(id), `round ${round}: ${id} is lost`);
    relay = await startRelay("kill-relay", relay.port);
    await untilSame(`round ${round}`, a, b, sessionId, file.entryLines.length + appended);
  }
  const lines = await untilSame("at the end", a, b, sessionId, file.entryLines.length + appended);
  const ids = lines.map(idOf);
  assert.equal(new Set(ids).size, ids.length, "nothing doubled");
  return `${appended} entries written, ${acknowledged.size} acknowledged in time, 0 lost`;
}

/** Ids on one device that the other one wrote: they came through the relay. */
async function seenByTheOther(a: DeviceProcess, b: DeviceProcess, sessionId: string): Promise<string[]> {
  const [onA, onB] = await Promise.all([a.ask("snapshot", { sessionId }), b.ask("snapshot", { sessionId })]);
  const idsOnB = new Set(onB.lines.map(idOf));
  return onA.lines.map(idOf).filter((id) => idsOnB.has(id));
}

async function readWithFreshDevice(dataDir: string, round: number, sessionId: string): Promise<Set<string>> {
  const copy = join(scratch, `kill-copy-${round}`);
  cpSync(dataDir, copy, { recursive: true });
  const relay = await startRelayProcess(copy);
  const reader = await startDevice("reader", `kill-reader-${round}`, relay.url);
  assert.ok(await reader.ask("attach", { sessionId, timeoutMs: patientMs }), "the reader synced");
  const { lines } = await reader.ask("snapshot", { sessionId });
  await reader.kill();
  await relay.stop();
  return new Set(lines.map(idOf));
}

async function keepSecrets(): Promise<string> {
  let searched = 0;
  for (const sealed of [true, false]) {
    const relay = await startRelay(`secrets-relay-${sealed}`);
    const recorder = await startTrafficRecorder(relay.url);
    cleanups.push(() => recorder.close());
    const a = await startDevice("a", `secrets-a-${sealed}`, recorder.url, keyHex, sealed);
    const b = await startDevice("b", `secrets-b-${sealed}`, recorder.url, keyHex, sealed);
    const secrets = new Set<string>();
    for (const file of files) {
      const { sessionId } = file;
      await a.ask("importFile", { path: file.path });
      assert.ok(await b.ask("attach", { sessionId, timeoutMs: patientMs }));
      const last = await b.ask("append", { sessionId, text: "Unmistakable afterthought" });
      await b.ask("label", { sessionId, entryId: last, label: "remarkable-waypoint" });
      await b.ask("nameSession", { sessionId, name: "Confidential expedition" });
      for (const device of [a, b]) assert.ok(await device.ask("waitAcknowledged", { sessionId, timeoutMs: patientMs }));
      const lines = await untilSame(file.name, a, b, sessionId, file.entryLines.length + 3);
      for (const secret of collectSecrets([file.headerLine, ...lines])) secrets.add(secret);
    }
    const sought = [...secrets];
    await relay.stop();
    for (const [where, bytes] of [
      ["store", readFolderBytes(relay.dataDir)] as const,
      ["traffic", recorder.bytes()] as const,
    ]) {
      const found = findSecrets(sought, bytes);
      if (sealed) assert.deepEqual(found, [], `readable in the ${where}`);
      else
        assert.ok(
          found.length === sought.length,
          `the search itself finds ${found.length} of ${sought.length} in an unsealed ${where}; missing ${sought
            .filter((secret) => !found.includes(secret))
            .slice(0, 5)
            .join(", ")}`,
        );
    }
    searched = sought.length;
  }
  return `0 of ${searched} words, names, labels and ids found in store and traffic; unsealed: all ${searched} in both`;
}

async function startRelay(name: string, port = 0): Promise<RelayProcess> {
  const relay = await startRelayProcess(join(scratch, name), port);
  cleanups.push(() => relay.kill());
  return relay;
}

async function startDevice(
  name: string,
  home: string,
  relay: string,
  key = keyHex,
  sealed = true,
): Promise<DeviceProcess> {
  const device = startDeviceProcess();
  cleanups.push(() => device.kill());
  await device.ask("open", { home: join(scratch, home), relay, keyHex: key, name, sealed });
  return device;
}

function largestFile(): PlainSessionFile {
  return files.reduce((most, next) => (next.entryLines.length > most.entryLines.length ? next : most));
}

function assertCounts(file: PlainSessionFile, lines: readonly string[]): void {
  const counts = countTree(lines);
  const wanted = expected[file.name];
  const reference = wanted
    ? {
        entries: wanted.entries,
        roots: wanted.roots,
        forks: wanted.branchPoints ?? wanted.forks,
        leaves: wanted.leaves,
        depth: wanted.depth,
      }
    : countTree(file.entryLines);
  assert.deepEqual({ ...counts }, reference, `${file.name}: counts`);
}

function idOf(line: string): string {
  return (JSON.parse(line) as { id: string }).id;
}

/** Both logs, once they are equal (and have `length` lines, when given). */
async function untilSame(
  what: string,
  a: DeviceProcess,
  b: DeviceProcess,
  sessionId: string,
  length?: number,
): Promise<string[]> {
  let lines: string[] = [];
  await untilTrue(`${what}: both logs equal`, async () => {
    const [onA, onB] = await Promise.all([a.ask("snapshot", { sessionId }), b.ask("snapshot", { sessionId })]);
    lines = onA.lines;
    return (length === undefined || lines.length === length) && isSameList(onA.lines, onB.lines);
  });
  return lines;
}

async function untilEqual<Value>(
  what: string,
  device: DeviceProcess,
  sessionId: string,
  read: (snapshot: DeviceSnapshot) => Value,
  value: Value,
): Promise<void> {
  await untilTrue(`${what}: ${String(value)}`, async () => read(await device.ask("snapshot", { sessionId })) === value);
}

async function untilTrue(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + patientMs;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(`${what}: not within ${patientMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, at) => line === b[at]);
}
