import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { backUpLmdbStore } from "@coppice/persist-lmdb";
import { EntryLedger } from "./entry-ledger.ts";
import { type Lab, makeCheck, type NetworkCheck, showMs, untilTrue } from "./network-lab.ts";
import type { DeviceProcess } from "./processes.ts";

/** A home is copied to a second machine, with its device id. `count` entries are written on each side in each session. */
export function createCopiedHomeChecks(count: number): NetworkCheck[] {
  return [
    makeCheck(
      "[SM31, WS22] a home copied while it was off, both away for long, meeting through the relay alone",
      (lab) => meetAfterLong(lab, count),
    ),
    makeCheck("[SM31, WS22] a home copied while it runs and writes", (lab) => copyRunning(lab, count)),
    makeCheck(
      "[SM31] copies that are never there at the same time lose nothing, and are told apart when they are",
      (lab) => meetLater(lab, count),
    ),
  ];
}

const sessionIds = ["copied-1", "copied-2", "copied-3"];
/** A copy that was made while the first ran does not notice it: nothing is gained by waiting long for it to go. */
const copyGraceMs = 300;

async function meetAfterLong(lab: Lab, count: number): Promise<string> {
  const ledger = new EntryLedger();
  const relay = await lab.startRelay("relay");
  const first = await lab.startDevice({ name: "laptop", home: "original", relay: relay.url });
  for (const sessionId of sessionIds) {
    await ledger.create(first, sessionId);
    await ledger.append(first, sessionId, "before the copy", 3);
  }
  await ledger.untilEverywhere("before the copy", [first]);
  await first.stop();
  await relay.stop();
  cpSync(join(lab.scratch, "original"), join(lab.scratch, "copy"), { recursive: true });
  const pair: DeviceProcess[] = [];
  for (const home of ["original", "copy"]) pair.push(await lab.startDevice({ name: "laptop", home, relay: relay.url }));
  const leaves = new Map<DeviceProcess, string[]>(pair.map((device) => [device, []]));
  for (const [at, device] of pair.entries())
    for (const sessionId of sessionIds) {
      const last = await ledger.append(device, sessionId, `alone ${at}`, count);
      await ledger.label(device, sessionId, last, `label ${at}`);
      leaves.get(device)?.push(await ledger.append(device, sessionId, `alone still ${at}`));
    }

  const startedAt = performance.now();
  await lab.startRelay("relay", relay.port);
  const splitMs = await untilSplit(pair, startedAt);
  await ledger.untilEverywhere("after the copies met", pair);
  for (const device of pair) {
    const ownLeaves = await Promise.all(
      sessionIds.map(async (sessionId) => (await device.ask("snapshot", { sessionId })).leafId),
    );
    assert.deepEqual(ownLeaves, leaves.get(device), "each stands where it stood, in every session");
  }
  await goOnApart(ledger, pair);
  await ledger.assertNewcomerHasAll("copied while off", lab, relay.url);
  return `${ledger.count} entries in ${sessionIds.length} sessions, each once; told apart ${showMs(splitMs)} after the relay was back`;
}

async function copyRunning(lab: Lab, count: number): Promise<string> {
  const ledger = new EntryLedger();
  const relay = await lab.startRelay("relay");
  const original = await lab.startDevice({ name: "laptop", home: "original", relay: relay.url, copyGraceMs });
  for (const sessionId of sessionIds) {
    await ledger.create(original, sessionId);
    await ledger.append(original, sessionId, "before the copy", 3);
  }
  const [busy = ""] = sessionIds;
  let copied = false;
  const writing = (async () => {
    do await ledger.append(original, busy, "while it is copied", 5);
    while (!copied);
  })();
  // As a snapshot of a disk is: everything at one moment.
  await backUpLmdbStore({ from: join(lab.scratch, "original", "store"), to: join(lab.scratch, "copy", "store") });
  copied = true;
  await writing;
  const startedAt = performance.now();
  const copy = await lab.startDevice({ name: "laptop", home: "copy", relay: relay.url, copyGraceMs });
  const pair = [original, copy];
  for (const sessionId of sessionIds) {
    await Promise.all(pair.map((device, at) => ledger.append(device, sessionId, `at once ${at}`, count)));
  }
  const splitMs = await untilSplit(pair, startedAt);
  await ledger.untilEverywhere("copied while it ran", pair);
  await goOnApart(ledger, pair);
  await ledger.assertNewcomerHasAll("copied while it ran", lab, relay.url);
  return `${ledger.count} entries in ${sessionIds.length} sessions, each once; told apart ${showMs(splitMs)} after the copy's start`;
}

async function meetLater(lab: Lab, count: number): Promise<string> {
  const ledger = new EntryLedger();
  const relay = await lab.startRelay("relay");
  const open = (home: string): Promise<DeviceProcess> => lab.startDevice({ name: "laptop", home, relay: relay.url });
  const first = await open("original");
  for (const sessionId of sessionIds) {
    await ledger.create(first, sessionId);
    await ledger.append(first, sessionId, "before the copy", 3);
  }
  await ledger.untilEverywhere("before the copy", [first]);
  await first.stop();
  cpSync(join(lab.scratch, "original"), join(lab.scratch, "copy"), { recursive: true });
  const turns = 4;
  for (let turn = 0; turn < turns; turn += 1) {
    const device = await open(turn % 2 === 0 ? "original" : "copy");
    for (const sessionId of sessionIds) await ledger.append(device, sessionId, `turn ${turn}`, count);
    await ledger.untilEverywhere(`turn ${turn}`, [device]);
    await device.stop();
  }
  const pair = [await open("original"), await open("copy")];
  await ledger.untilEverywhere("at last", pair);
  const splitMs = await untilSplit(pair, performance.now());
  await goOnApart(ledger, pair);
  await ledger.assertNewcomerHasAll("in turns", lab, relay.url);
  return `${ledger.count} entries in ${turns} turns, each once; told apart ${showMs(splitMs)} after both had everything`;
}

/** Settles when exactly one of two with one id has taken another; the time since `startedAt`, in ms. */
async function untilSplit(pair: readonly DeviceProcess[], startedAt: number): Promise<number> {
  const readAll = (): Promise<{ id: string; name: string; formerIds: string[] }[]> =>
    Promise.all(pair.map((device) => device.ask("identity", null)));
  // They show their cursors where they have a session open.
  for (const device of pair)
    for (const sessionId of sessionIds) await device.ask("attach", { sessionId, timeoutMs: 1 });
  await untilTrue(
    "one of the two takes another id",
    async () => new Set((await readAll()).map(({ id }) => id)).size === 2,
  );
  const splitMs = performance.now() - startedAt;
  const changed = (await readAll()).filter(({ formerIds }) => formerIds.length > 0);
  assert.deepEqual(
    changed.map(({ name, formerIds }) => [name, formerIds]),
    [["laptop (copy)", ["device-laptop"]]],
    "only one of them has gone",
  );
  return splitMs;
}

/** From now on each appends to its own leaf, whatever the other does. */
async function goOnApart(ledger: EntryLedger, pair: readonly DeviceProcess[]): Promise<void> {
  for (const sessionId of sessionIds) {
    const before = await Promise.all(pair.map((device) => ledger.append(device, sessionId, "apart")));
    await ledger.untilEverywhere("apart", pair);
    for (const [at, device] of pair.entries())
      assert.equal((await device.ask("snapshot", { sessionId })).leafId, before[at], "the leaf of each is its own");
  }
}
