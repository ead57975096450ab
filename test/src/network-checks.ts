import assert from "node:assert/strict";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  idOf,
  type Lab,
  makeCheck,
  type NetworkCheck,
  patientMs,
  untilEqual,
  untilSame,
  untilTrue,
} from "./network-lab.ts";
import type { DeviceProcess } from "./processes.ts";
import { collectSecrets, findSecrets, readFolderBytes } from "./readable-words.ts";
import { type PlainSessionFile, readPlainSessionFiles } from "./session-files.ts";
import { startTrafficRecorder } from "./traffic-recorder.ts";
import { countTree } from "./tree-oracle.ts";

/** What the checks run on. */
export interface NetworkCheckOptions {
  readonly folder: string;
  /** How often the relay is killed. */
  readonly killRounds: number;
}

/** The checks, to be run one after the other. Each has a relay and devices in processes and stores of its own. */
export function createNetworkChecks(options: NetworkCheckOptions): NetworkCheck[] {
  const files = readPlainSessionFiles(options.folder);
  if (files.length === 0) throw new Error(`there is no well-formed session file of format 3 in ${options.folder}`);
  const expectedPath = join(options.folder, "expected.json");
  const expected = existsSync(expectedPath) ? (JSON.parse(readFileSync(expectedPath, "utf8")) as ExpectedCounts) : {};
  return [
    makeCheck("[CL4, WS7] every file imported on one device appears on the other, text by text", (lab) =>
      importOnceSeeTwice(lab, files, expected),
    ),
    makeCheck("[WS1, WS7] a file imported on two devices at once shows every entry once (F31)", (lab) =>
      importTwiceAtOnce(lab, files),
    ),
    makeCheck("[CL4, CL10] the relay away, both append to one leaf and branch elsewhere, the relay back", (lab) =>
      divergeAndMeet(lab, files),
    ),
    makeCheck("[CL8] two processes of one device see each other's entries without a relay", (lab) =>
      shareOneStore(lab, files),
    ),
    makeCheck("[CL1, RL1] kill -9 of the relay while both write loses nothing seen or acknowledged", (lab) =>
      surviveKills(lab, files, options.killRounds),
    ),
    makeCheck("[WS2, CU1] the relay's store and the traffic hold nothing readable", (lab) => keepSecrets(lab, files)),
  ];
}

type ExpectedCounts = { [file: string]: { [count: string]: number } };

async function importOnceSeeTwice(
  lab: Lab,
  files: readonly PlainSessionFile[],
  expected: ExpectedCounts,
): Promise<string> {
  const relay = await lab.startRelay("relay");
  const a = await lab.startDevice({ name: "a", relay: relay.url });
  const b = await lab.startDevice({ name: "b", relay: relay.url });
  let entries = 0;
  for (const file of files) {
    const imported = await a.ask("importFile", { path: file.path });
    assert.equal(imported.written, file.entryLines.length, `${file.name}: entries written`);
    assert.ok(await b.ask("attach", { sessionId: file.sessionId, timeoutMs: patientMs }), `${file.name}: B synced`);
    assert.ok(await a.ask("waitAcknowledged", { sessionId: file.sessionId, timeoutMs: patientMs }));
    await untilEqual(file.name, b, file.sessionId, ({ lines }) => lines.length, file.entryLines.length);
    const { lines } = await b.ask("snapshot", { sessionId: file.sessionId });
    assert.deepEqual(lines, file.entryLines, `${file.name}: lines on B`);
    assertCounts(file, lines, expected[file.name]);
    const again = await a.ask("importFile", { path: file.path });
    assert.deepEqual([again.written, again.known], [0, file.entryLines.length], `${file.name}: imported again`);
    entries += lines.length;
  }
  return `${files.length} files, ${entries} entries; imported again: 0 written`;
}

async function importTwiceAtOnce(lab: Lab, files: readonly PlainSessionFile[]): Promise<string> {
  const relay = await lab.startRelay("relay");
  const a = await lab.startDevice({ name: "a", relay: relay.url });
  const b = await lab.startDevice({ name: "b", relay: relay.url });
  let entries = 0;
  for (const file of files) {
    await Promise.all([a, b].map((device) => device.ask("importFile", { path: file.path })));
    for (const device of [a, b])
      assert.ok(await device.ask("waitAcknowledged", { sessionId: file.sessionId, timeoutMs: patientMs }));
    const both = await untilSame(file.name, a, b, file.sessionId);
    assert.deepEqual([...both].sort(), [...file.entryLines].sort(), `${file.name}: imported on both at once`);
    entries += both.length;
  }
  return `${files.length} files, ${entries} entries, each once and in the same order on both`;
}

async function divergeAndMeet(lab: Lab, files: readonly PlainSessionFile[]): Promise<string> {
  const file = largestOf(files);
  const relay = await lab.startRelay("relay");
  const a = await lab.startDevice({ name: "a", relay: relay.url });
  const b = await lab.startDevice({ name: "b", relay: relay.url });
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
  await lab.startRelay("relay", relay.port);
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

async function surviveKills(lab: Lab, files: readonly PlainSessionFile[], killRounds: number): Promise<string> {
  const file = files.reduce((least, next) => (next.entryLines.length < least.entryLines.length ? next : least));
  const { sessionId } = file;
  let relay = await lab.startRelay("relay");
  const a = await lab.startDevice({ name: "a", relay: relay.url });
  const b = await lab.startDevice({ name: "b", relay: relay.url });
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
    const kept = await readWithFreshDevice(lab, relay.dataDir, round, sessionId);
    for (const id of [...acknowledged, ...seen]) assert.ok(kept.has(id), `round ${round}: ${id} is lost`);
    relay = await lab.startRelay("relay", relay.port);
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

async function readWithFreshDevice(lab: Lab, dataDir: string, round: number, sessionId: string): Promise<Set<string>> {
  const copy = `relay-copy-${round}`;
  cpSync(dataDir, join(lab.scratch, copy), { recursive: true });
  const relay = await lab.startRelay(copy);
  const reader = await lab.startDevice({ name: `reader-${round}`, relay: relay.url });
  assert.ok(await reader.ask("attach", { sessionId, timeoutMs: patientMs }), "the reader synced");
  const { lines } = await reader.ask("snapshot", { sessionId });
  await reader.kill();
  await relay.stop();
  return new Set(lines.map(idOf));
}

async function shareOneStore(lab: Lab, files: readonly PlainSessionFile[]): Promise<string> {
  const file = largestOf(files);
  const { sessionId } = file;
  const first = await lab.startDevice({ name: "a", home: "shared" });
  const second = await lab.startDevice({ name: "a", home: "shared" });
  await first.ask("importFile", { path: file.path });
  assert.equal((await second.ask("importFile", { path: file.path })).written, 0, "known from the store");
  const texts = Array.from({ length: 20 }, (_, at) => `entry ${at}`);
  await Promise.all([first, second].map((process) => process.ask("appendMany", { sessionId, texts })));
  const startedAt = performance.now();
  const id = await first.ask("append", { sessionId, text: "noticed?" });
  await untilTrue("the other process notices", async () =>
    (await second.ask("snapshot", { sessionId })).lines.some((line) => idOf(line) === id),
  );
  const noticedMs = performance.now() - startedAt;
  const lines = await untilSame("both processes", first, second, sessionId, file.entryLines.length + 41);
  return `${lines.length} entries, the same in both; the last one noticed after ${Math.round(noticedMs)} ms`;
}

async function keepSecrets(lab: Lab, files: readonly PlainSessionFile[]): Promise<string> {
  let searched = 0;
  for (const sealed of [true, false]) {
    const relay = await lab.startRelay(`relay-${sealed}`);
    const recorder = await startTrafficRecorder(relay.url);
    lab.onClose(() => recorder.close());
    const a = await lab.startDevice({ name: "a", home: `a-${sealed}`, relay: recorder.url, sealed });
    const b = await lab.startDevice({ name: "b", home: `b-${sealed}`, relay: recorder.url, sealed });
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

function largestOf(files: readonly PlainSessionFile[]): PlainSessionFile {
  return files.reduce((most, next) => (next.entryLines.length > most.entryLines.length ? next : most));
}

function assertCounts(
  file: PlainSessionFile,
  lines: readonly string[],
  wanted: ExpectedCounts[string] | undefined,
): void {
  const { entries, roots, branchPoints, forks = branchPoints, leaves, depth } = wanted ?? {};
  const reference = wanted === undefined ? countTree(file.entryLines) : { entries, roots, forks, leaves, depth };
  assert.deepEqual({ ...countTree(lines) }, { ...reference }, `${file.name}: counts`);
}
