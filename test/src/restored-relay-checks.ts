import assert from "node:assert/strict";
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { backUpLmdbStore } from "@coppice/persist-lmdb";
import { countRecords, EntryLedger } from "./entry-ledger.ts";
import { type Lab, makeCheck, type NetworkCheck, patientMs, showMs, untilTrue } from "./network-lab.ts";
import type { RelayProcess } from "./processes.ts";

/** A relay forgets: a day, or everything. `count` entries are written at each step. */
export function createRestoredRelayChecks(count: number): NetworkCheck[] {
  return [
    makeCheck("[SM32] a session deleted since yesterday stays deleted, though the backup has it", (lab) =>
      restoreBeforeDeletion(lab, count),
    ),
    makeCheck("[SM32, RL72] a relay restored from yesterday's backup is refilled by the devices", (lab) =>
      restoreYesterday(lab, count),
    ),
    makeCheck("[SM32, RL72] a wiped relay is refilled by two devices that have different halves", (lab) =>
      refillFromHalves(lab, count),
    ),
  ];
}

async function restoreYesterday(lab: Lab, count: number): Promise<string> {
  const ledger = new EntryLedger();
  const relay = await lab.startRelay("relay");
  const a = await lab.startDevice({ name: "a", relay: relay.url });
  const b = await lab.startDevice({ name: "b", relay: relay.url });
  const early = await lab.startDevice({ name: "early", relay: relay.url });
  for (const sessionId of ["old", "shared", "merged"]) {
    await ledger.create(a, sessionId);
    await ledger.append(a, sessionId, "the day before", count);
  }
  // More small updates than the relay leaves unmerged.
  await ledger.appendAtOnce(a, "merged", "small", 80);
  await ledger.untilEverywhere("the day before", [a, b, early]);
  await early.stop();
  const away = await lab.startDevice({ name: "early" });
  await ledger.append(away, "shared", "away since yesterday", count);
  await away.stop();

  const backup = join(lab.scratch, "backup");
  await Promise.all([
    ledger.append(a, "shared", "during the backup", count),
    backUpLmdbStore({ from: relay.dataDir, to: backup }),
  ]);
  await ledger.append(a, "shared", "today", count);
  await ledger.append(b, "old", "today", count);
  await ledger.appendAtOnce(b, "merged", "small today", 80);
  await ledger.create(b, "new");
  await ledger.append(b, "new", "made today", count);
  assert.ok(await a.ask("waitAcknowledged", { sessionId: "shared", timeoutMs: patientMs }), "today on a");
  for (const sessionId of ["old", "merged", "new"])
    assert.ok(await b.ask("waitAcknowledged", { sessionId, timeoutMs: patientMs }), `today on b: ${sessionId}`);
  // The maker of the new session is away when the relay comes back without it.
  await b.stop();

  await relay.kill();
  rmSync(relay.dataDir, { recursive: true });
  renameSync(backup, relay.dataDir);
  const startedAt = performance.now();
  const refilled = await lab.startRelay("relay", relay.port);
  for (const sessionId of ["old", "shared", "merged"])
    assert.ok(await a.ask("waitAcknowledged", { sessionId, timeoutMs: patientMs }), `${sessionId} refilled`);
  // What the device says is at the relay survives it, at once.
  await refilled.kill();
  for (const sessionId of ["old", "shared", "merged"]) {
    const held = (await a.ask("snapshot", { sessionId })).lines.length;
    assert.equal(
      await countRecords(relay.dataDir, sessionId),
      held + 1,
      `${sessionId}: what the device had acknowledged`,
    );
  }
  const restored = await lab.startRelay("relay", relay.port);
  const devices = [a];
  for (const name of ["b", "early"]) devices.push(await lab.startDevice({ name, relay: relay.url }));
  await ledger.untilEverywhere("restored", devices);
  const refilledMs = performance.now() - startedAt;
  await ledger.append(a, "shared", "afterwards", count);
  await ledger.untilEverywhere("restored and used", devices);
  await ledger.assertNewcomerHasAll("restored", lab, relay.url);
  await endRelay(restored, devices);
  await ledger.assertRelayKeeps("restored", relay.dataDir);
  return `${ledger.count} entries in ${ledger.sessionIds.length} sessions, each once everywhere and at the relay; complete ${showMs(refilledMs)} after its start (two device starts included)`;
}

async function restoreBeforeDeletion(lab: Lab, count: number): Promise<string> {
  const ledger = new EntryLedger();
  const relay = await lab.startRelay("relay");
  const a = await lab.startDevice({ name: "a", relay: relay.url });
  const b = await lab.startDevice({ name: "b", relay: relay.url });
  for (const sessionId of ["kept", "deleted"]) {
    await ledger.create(a, sessionId);
    await ledger.append(a, sessionId, "the day before", count);
  }
  await ledger.untilEverywhere("the day before", [a, b]);
  const backup = join(lab.scratch, "backup");
  await backUpLmdbStore({ from: relay.dataDir, to: backup });
  assert.ok(await a.ask("deleteSession", { sessionId: "deleted", timeoutMs: patientMs }));
  ledger.forget("deleted");
  await untilTrue("b hears of it", async () => (await b.ask("listing", null)).length === 1);
  await b.stop();
  await relay.kill();
  rmSync(relay.dataDir, { recursive: true });
  renameSync(backup, relay.dataDir);
  const restored = await lab.startRelay("relay", relay.port);
  const devices = [a, await lab.startDevice({ name: "b", relay: relay.url })];
  await ledger.append(a, "kept", "today", count);
  await ledger.untilEverywhere("restored", devices);
  const newcomer = await lab.startDevice({ name: "newcomer", relay: relay.url });
  await ledger.untilEverywhere("restored, on a new device", [newcomer]);
  for (const device of [...devices, newcomer])
    assert.deepEqual(
      (await device.ask("listing", null)).map(({ id }) => id),
      ["kept"],
      "it is listed nowhere",
    );
  await untilTrue("its room is deleted again", async () => (await countRecords(relay.dataDir, "deleted")) === 0);
  await endRelay(restored, [...devices, newcomer]);
  return `${ledger.count} entries kept; the other session is listed on 0 of 3 devices, and its room is gone again`;
}

async function refillFromHalves(lab: Lab, count: number): Promise<string> {
  const ledger = new EntryLedger();
  const relay = await lab.startRelay("relay");
  const a = await lab.startDevice({ name: "a", relay: relay.url });
  const b = await lab.startDevice({ name: "b", relay: relay.url });
  await ledger.create(a, "both");
  await ledger.append(a, "both", "known to both", count);
  await ledger.create(b, "of-b");
  await ledger.append(b, "of-b", "only on b", count);
  assert.ok(await a.ask("attach", { sessionId: "both", timeoutMs: patientMs }));
  await ledger.untilEverywhere("before the wipe", [b]);
  await relay.stop();
  const aLeaf = await ledger.append(a, "both", "half of a", count);
  const bLeaf = await ledger.append(b, "both", "half of b", count);
  // Restarted, they know what they wrote from their disks alone.
  await a.stop();
  await b.stop();
  rmSync(relay.dataDir, { recursive: true });

  const startedAt = performance.now();
  const wiped = await lab.startRelay("relay", relay.port);
  // One after the other, never at the same time: each brings what it has.
  const first = await lab.startDevice({ name: "a", relay: relay.url });
  assert.ok(await first.ask("attach", { sessionId: "both", timeoutMs: patientMs }));
  assert.ok(await first.ask("waitAcknowledged", { sessionId: "both", timeoutMs: patientMs }));
  await first.stop();
  const second = await lab.startDevice({ name: "b", relay: relay.url });
  await ledger.untilEverywhere("wiped", [second]);
  const devices = [second, await lab.startDevice({ name: "a", relay: relay.url })];
  await ledger.untilEverywhere("wiped, both back", devices);
  const refilledMs = performance.now() - startedAt;
  for (const [device, leafId] of [[devices[1], aLeaf] as const, [devices[0], bLeaf] as const])
    assert.equal((await device?.ask("snapshot", { sessionId: "both" }))?.leafId, leafId, "each where it stood");
  await ledger.assertNewcomerHasAll("wiped", lab, relay.url);
  await endRelay(wiped, devices);
  await ledger.assertRelayKeeps("wiped", relay.dataDir);
  return `${ledger.count} entries, each once everywhere and at the relay; complete ${showMs(refilledMs)} after the relay's start (three device starts included)`;
}

async function endRelay(relay: RelayProcess, devices: readonly { stop(): Promise<void> }[]): Promise<void> {
  for (const device of devices) await device.stop();
  await relay.stop();
}
