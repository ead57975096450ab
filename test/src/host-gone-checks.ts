import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { formatPairingLink, parsePairingLink } from "@coppice/client";
import { idOf, keyHex, type Lab, makeCheck, type NetworkCheck, patientMs, showMs, untilTrue } from "./network-lab.ts";
import type { DeviceProcess } from "./processes.ts";
import type { PlainSessionFile } from "./session-files.ts";

/** A host is gone, with its folder: the others go on from the relay. `count` entries of the file are appended. */
export function createHostGoneChecks(file: PlainSessionFile, count: number): NetworkCheck[] {
  return [
    makeCheck(
      "[SM30] the host gone: devices paired before and after go on where it stood, from the relay alone",
      (lab) => goOnWithoutHost(lab, file, count),
    ),
    makeCheck("[SM30] the host killed in the middle of its work: what it was told is at the relay goes on", (lab) =>
      goOnFromTheMiddle(lab, file, count),
    ),
  ];
}

async function goOnWithoutHost(lab: Lab, file: PlainSessionFile, count: number): Promise<string> {
  const { sessionId } = file;
  const lines = file.entryLines.slice(0, count);
  const half = Math.floor(lines.length / 2);
  const relay = await lab.startRelay("relay");
  const a = await lab.startDevice({ name: "a", relay: relay.url });
  // One is paired before and away all the time, one is there for the first half.
  await (await lab.startDevice({ name: "b", relay: relay.url })).stop();
  const appendedAt = performance.now();
  await a.ask("createSession", { sessionId });
  await a.ask("appendLines", { sessionId, lines: lines.slice(0, half) });
  let appendMs = performance.now() - appendedAt;
  assert.ok(await a.ask("waitAcknowledged", { sessionId, timeoutMs: patientMs }));
  const witness = await lab.startDevice({ name: "w", relay: relay.url });
  assert.ok(await witness.ask("attach", { sessionId, timeoutMs: patientMs }));
  assert.equal((await witness.ask("snapshot", { sessionId })).lines.length, half, "the witness has the first half");
  await witness.stop();
  const resumedAt = performance.now();
  await a.ask("appendLines", { sessionId, lines: lines.slice(half) });
  appendMs += performance.now() - resumedAt;
  assert.ok(await a.ask("waitAcknowledged", { sessionId, timeoutMs: patientMs }));
  const host = await a.ask("snapshot", { sessionId });
  const context = await a.ask("context", { sessionId });
  assert.deepEqual(host.lines, lines, "what the host has");
  await destroy(lab, a, "a");
  await relay.kill();
  await lab.startRelay("relay", relay.port);

  const figures = [`${lines.length} entries appended one by one in ${showMs(appendMs)}`];
  const devices: DeviceProcess[] = [];
  for (const [name, how] of [["b", "paired before"] as const, ["w", "there until the half"], ["c", "paired after"]]) {
    const startedAt = performance.now();
    const device = await lab.startDevice({ name: name as string, ...pairingOf(relay.url) });
    devices.push(device);
    assert.ok(await device.ask("attach", { sessionId, timeoutMs: patientMs }), `${how}: synced`);
    // It has had a place of its own since the half, which nobody moves but itself.
    if (name === "w") assert.equal(await device.ask("resume", { sessionId, policy: "latest" }), "latest");
    const there = await device.ask("snapshot", { sessionId });
    const continuedMs = performance.now() - startedAt;
    assert.deepEqual(there.lines.slice(0, lines.length), lines, `${how}: its entries`);
    assert.equal(there.leafId, host.leafId, `${how}: stands where the host stood`);
    assert.equal(await device.ask("context", { sessionId }), context, `${how}: the context`);
    figures.push(`${how}: there ${showMs(continuedMs)} after its start`);
  }
  // The move of the one that came back is the last record by then: the newest device follows its effect.
  const parents = new Set<string | null>();
  for (const [at, device] of devices.entries()) {
    const id = await device.ask("append", { sessionId, text: `device ${at} goes on` });
    parents.add(await readParent(device, sessionId, id));
  }
  assert.deepEqual([...parents], [host.leafId], "all go on from where the host stood");
  const moves = 1;
  for (const device of devices)
    await untilTrue("everybody has what the others added", async () => {
      const all = (await device.ask("snapshot", { sessionId })).lines;
      return all.length === lines.length + moves + devices.length;
    });
  return figures.join("; ");
}

async function goOnFromTheMiddle(lab: Lab, file: PlainSessionFile, count: number): Promise<string> {
  const { sessionId } = file;
  const lines = file.entryLines.slice(0, count);
  const relay = await lab.startRelay("relay");
  const a = await lab.startDevice({ name: "a", relay: relay.url });
  await a.ask("createSession", { sessionId });
  const told = Math.floor(lines.length / 3);
  await a.ask("appendLines", { sessionId, lines: lines.slice(0, told) });
  assert.ok(await a.ask("waitAcknowledged", { sessionId, timeoutMs: patientMs }));
  // Killed once another device has seen some of what nobody has told it is safe.
  const b = await lab.startDevice({ name: "b", ...pairingOf(relay.url) });
  assert.ok(await b.ask("attach", { sessionId, timeoutMs: patientMs }));
  const appending = a.ask("appendLines", { sessionId, lines: lines.slice(told) }).catch(() => null);
  await untilTrue("the other sees it grow", async () => {
    const seen = (await b.ask("snapshot", { sessionId })).lines.length;
    return seen >= Math.min(told + 10, lines.length);
  });
  await destroy(lab, a, "a");
  await appending;
  const c = await lab.startDevice({ name: "c", ...pairingOf(relay.url) });
  assert.ok(await c.ask("attach", { sessionId, timeoutMs: patientMs }));
  const [onB, onC] = [await b.ask("snapshot", { sessionId }), await c.ask("snapshot", { sessionId })];
  assert.deepEqual(onB.lines, lines.slice(0, onB.lines.length), "a beginning of what the host wrote");
  assert.deepEqual(onC.lines, onB.lines, "the same on both");
  const id = await c.ask("append", { sessionId, text: "and on it goes" });
  assert.equal(await readParent(c, sessionId, id), onC.leafId);
  return `${told} entries told, ${onC.lines.length} of ${lines.length} there after the kill`;
}

/** The device's process is killed and its folder removed. */
async function destroy(lab: Lab, device: DeviceProcess, home: string): Promise<void> {
  await device.kill();
  rmSync(join(lab.scratch, home), { recursive: true });
}

/** What a device has that was given a pairing link and nothing else. */
function pairingOf(relayUrl: string): { relay: string; key: string } {
  const link = formatPairingLink({ relay: relayUrl, workspaceKey: Uint8Array.from(Buffer.from(keyHex, "hex")) });
  const { relay, workspaceKey } = parsePairingLink(link);
  assert.ok(relay !== undefined);
  return { relay, key: Buffer.from(workspaceKey).toString("hex") };
}

async function readParent(device: DeviceProcess, sessionId: string, id: string): Promise<string | null> {
  const { lines } = await device.ask("snapshot", { sessionId });
  const line = lines.find((each) => idOf(each) === id);
  assert.ok(line !== undefined, `${id} is there`);
  return (JSON.parse(line) as { parentId: string | null }).parentId;
}
