import assert from "node:assert/strict";
import { assertOneTree } from "./pi-handover-check.ts";
import type { PiHome } from "./pi-home.ts";
import { type OpeningWay, type PiLab, readPiFile, withoutMoves } from "./pi-lab.ts";
import type { PiProcess, PiRecord } from "./pi-process.ts";

/**
 * Two devices take turns in one session of pi's, and then work in it at the same time, on different branches. Returns
 * the figures.
 */
export async function goBackAndForth(lab: PiLab, times: number, way: OpeningWay): Promise<string> {
  const laptop = await lab.addDevice("laptop");
  const desktop = await lab.addDevice("desktop");
  const phone = await lab.addDevice("phone");
  const first = await lab.start(laptop);
  await first.prompt("/coppice on");
  await first.prompt("first");
  const { sessionId } = await first.call("get_state");
  assert.equal(await first.stop(), 0);

  const said = ["first"];
  for (let time = 1; time <= times; time += 1)
    for (const [name, home] of [["desktop", desktop] as const, ["laptop", laptop] as const]) {
      const pi = await lab.open(home, sessionId, way);
      const text = `${name} ${time}`;
      await pi.prompt(text);
      said.push(text);
      const { entries, leafId } = await pi.call("get_entries");
      assert.deepEqual(saidUpTo(entries, leafId), said, `the branch of ${name} the ${time}. time`);
      assert.equal(await pi.stop(), 0);
    }

  const [onLaptop, onDesktop] = await Promise.all([laptop, desktop].map((home) => lab.open(home, sessionId, way)));
  assert.ok(onLaptop !== undefined && onDesktop !== undefined);
  const { entries } = await onDesktop.call("get_entries");
  const answered = entries.find((entry: PiRecord) => entry.message?.role === "assistant");
  await onDesktop.prompt(`/test-go ${answered.id}`);
  await Promise.all([askTwice(onLaptop, "laptop"), askTwice(onDesktop, "desktop")]);
  const leaves = [(await onLaptop.call("get_entries")).leafId, (await onDesktop.call("get_entries")).leafId];
  for (const pi of [onLaptop, onDesktop]) assert.equal(await pi.stop(), 0);

  const logs: string[][] = [];
  for (const home of [laptop, desktop, phone]) {
    await lab.sync(home);
    logs.push(withoutMoves(await lab.readTexts(home, sessionId)));
  }
  for (const log of logs) assert.deepEqual(log, logs[2], "the logs");
  assertOneTree(logs[2] ?? []);
  for (const home of [laptop, desktop]) assertOneTree((await readPiFile(home)).lines.slice(1));

  const branches = [
    [...said, "laptop at once", "laptop once more"],
    ["first", "desktop at once", "desktop once more"],
  ];
  const restart = async (home: PiHome, index: number): Promise<void> => {
    const { path } = await readPiFile(home);
    // The file as it was left, and then with all that has come since.
    for (const open of [() => lab.continue(home, path), () => lab.open(home, sessionId, way)]) {
      const pi = await open();
      const now = await pi.call("get_entries");
      assert.deepEqual(saidUpTo(now.entries, now.leafId), branches[index], "the branch after a restart");
      assert.ok(pathOf(now.entries, now.leafId).some(({ id }) => id === leaves[index]));
      assert.equal(await pi.stop(), 0);
    }
  };
  await Promise.all([laptop, desktop].map(restart));
  for (const home of [laptop, desktop]) {
    await lab.sync(home);
    assertOneTree(withoutMoves(await lab.readTexts(home, sessionId)));
    assertOneTree((await readPiFile(home)).lines.slice(1));
  }
  const count = (await lab.readTexts(laptop, sessionId)).length;
  return `${times} times there and back, then at once: one tree of ${count} entries on three devices, one root, nothing twice, each pi on its own branch after a restart`;
}

async function askTwice(pi: PiProcess, name: string): Promise<void> {
  await pi.prompt(`${name} at once`);
  await pi.prompt(`${name} once more`);
}

/** Root first. */
function pathOf(entries: readonly PiRecord[], leafId: string | null): PiRecord[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path: PiRecord[] = [];
  for (let id = leafId; id !== null; ) {
    const entry = byId.get(id);
    assert.ok(entry !== undefined, `${id} is not there`);
    path.unshift(entry);
    id = entry.parentId;
  }
  return path;
}

/** What the user has said on the branch. */
function saidUpTo(entries: readonly PiRecord[], leafId: string | null): string[] {
  return pathOf(entries, leafId)
    .filter(({ message }) => message?.role === "user")
    .map(({ message }) => message.content.map((block: PiRecord) => block.text).join(""));
}
