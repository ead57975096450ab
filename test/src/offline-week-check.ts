import assert from "node:assert/strict";
import { EntryLedger } from "./entry-ledger.ts";
import { idOf, type Lab, makeCheck, type NetworkCheck, patientMs, showMs, untilTrue } from "./network-lab.ts";
import type { DeviceProcess } from "./processes.ts";

/** Two devices are offline for a week by their clocks, which differ; `count` entries are appended on each, each day. */
export function createOfflineWeekCheck(count: number): NetworkCheck {
  return makeCheck(
    "[SM33] a week offline, both at work on the same things: equal once they meet, each where it stood",
    (lab) => meetAfterWeek(lab, count),
  );
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const mondayMs = Date.parse("2026-03-02T08:00:00.000Z");

async function meetAfterWeek(lab: Lab, count: number): Promise<string> {
  const ledger = new EntryLedger();
  const relay = await lab.startRelay("relay");
  const a = await lab.startDevice({ name: "a", relay: relay.url });
  const b = await lab.startDevice({ name: "b", relay: relay.url });
  const pair = [a, b] as const;
  await setClocks(pair, 0);
  for (const sessionId of ["week", "aside", "done"]) await ledger.create(a, sessionId);
  const sharedLeaf = await ledger.append(a, "week", "before the week", 5);
  const labelled = await ledger.append(a, "aside", "before the week", 2);
  await ledger.append(a, "done", "before the week", 2);
  await ledger.untilEverywhere("before the week", pair);
  await relay.stop();

  const forks: { by: DeviceProcess; other: DeviceProcess; id: string }[] = [];
  const firstIds: string[] = [];
  for (const day of [0, 3, 6]) {
    await setClocks(pair, day);
    for (const [at, by] of pair.entries()) {
      const other = at === 0 ? b : a;
      const first = await ledger.append(by, "week", `day ${day} of ${at}`);
      if (day === 0) firstIds.push(first);
      await ledger.append(by, "week", `day ${day} of ${at}, further`, count);
      await ledger.label(by, "aside", labelled, `label of ${at} on day ${day}`);
      await ledger.rename(by, "week", `named by ${at} on day ${day}`);
      forks.push({ by, other, id: await by.ask("fork", { sessionId: "week", entryId: first }) });
    }
  }
  // What one puts away the other goes on with.
  await a.ask("archive", { sessionId: "done" });
  await ledger.rename(b, "done", "not quite done");
  await ledger.append(b, "done", "one more thing");
  const leaves = await readLeaves(pair, ledger.sessionIds);

  const startedAt = performance.now();
  await lab.startRelay("relay", relay.port);
  await untilTrue("both lists are equal", async () => {
    const [ofA, ofB] = await Promise.all(pair.map((device) => device.ask("listing", null)));
    return ofA?.length === 3 + forks.length && JSON.stringify(ofA) === JSON.stringify(ofB);
  });
  await ledger.untilEverywhere("after the week", pair);
  const equalMs = performance.now() - startedAt;

  assert.deepEqual(await readLeaves(pair, ledger.sessionIds), leaves, "each is on its own leaf");
  const listing = await a.ask("listing", null);
  const done = listing.find(({ id }) => id === "done");
  assert.deepEqual(
    [done?.name, done?.archived],
    ["not quite done", true],
    "the name of the one, put away by the other",
  );
  assert.match(listing.find(({ id }) => id === "week")?.name ?? "", /^named by [01] on day 6$/);
  const labels = await Promise.all(
    pair.map((device) => device.ask("labelOf", { sessionId: "aside", entryId: labelled })),
  );
  assert.match(labels[0] ?? "", /^label of [01] on day 6$/);
  assert.equal(labels[1], labels[0], "the same label on both");
  for (const { by, other, id } of forks) {
    assert.equal(listing.find((session) => session.id === id)?.parentSession, "week", "the fork says where it is from");
    assert.ok(await other.ask("attach", { sessionId: id, timeoutMs: patientMs }), "the other's fork can be opened");
    const [ours, theirs] = await Promise.all([by, other].map((device) => device.ask("snapshot", { sessionId: id })));
    assert.ok((ours?.lines.length ?? 0) > 5);
    assert.deepEqual(theirs?.lines, ours?.lines, "a fork is the same on both");
  }
  for (const [at, device] of pair.entries()) {
    const branch = {
      sessionId: "week",
      entryId: firstIds[1 - at],
      parentId: sharedLeaf,
      deviceName: at === 0 ? "b" : "a",
    };
    const branches = (await device.ask("branches", null)).filter(({ sessionId }) => sessionId === "week");
    assert.deepEqual(branches, [branch], "an event named the device that added a branch, once");
  }
  const ids = (await a.ask("snapshot", { sessionId: "week" })).lines.map(idOf);
  assert.ok(firstIds.every((id) => ids.includes(id)));
  return `${ledger.count} entries and ${forks.length} forks; lists and logs equal ${showMs(equalMs)} after the relay's start (process start included)`;
}

/** The second clock is an hour ahead, and on the last day an hour behind what it showed on the first. */
async function setClocks([a, b]: readonly [DeviceProcess, DeviceProcess], day: number): Promise<void> {
  await a.ask("setClock", { nowMs: mondayMs + day * dayMs });
  await b.ask("setClock", { nowMs: mondayMs + (day === 6 ? -hourMs : day * dayMs + hourMs) });
}

function readLeaves(devices: readonly DeviceProcess[], sessionIds: readonly string[]): Promise<(string | null)[][]> {
  return Promise.all(
    devices.map((device) =>
      Promise.all(sessionIds.map(async (sessionId) => (await device.ask("snapshot", { sessionId })).leafId)),
    ),
  );
}
