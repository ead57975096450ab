import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { assertOneTree } from "./pi-handover-check.ts";
import { type PiLab, readPiFile, waitUntilLive, withoutMoves } from "./pi-lab.ts";

const kinds = ["pi", "relay", "both"] as const;
/** From the prompt to the kill at most, in ms; a turn takes longer. */
const latestKillMs = 2_500;

/**
 * pi, the relay or both are killed at a random moment of a turn, again and again; what pi had written is afterwards on
 * the other device, each entry once. Returns the figures.
 */
export async function surviveKills(lab: PiLab, { rounds, seed }: { rounds: number; seed: number }): Promise<string> {
  const laptop = await lab.addDevice("laptop");
  const phone = await lab.addDevice("phone");
  const first = await lab.start(laptop);
  await first.prompt("/coppice on");
  await first.prompt("first");
  assert.equal(await first.stop(), 0);

  await lab.sync(phone);
  const { id: sessionId, lines: fetched } = await readPiFile(laptop);
  const watch = await lab.watch(phone);

  const moments = fc.sample(fc.integer({ min: 0, max: latestKillMs }), { numRuns: rounds, seed });
  let written = 0;
  for (const [round, killAfterMs] of moments.entries()) {
    const kind = kinds[round % kinds.length];
    const pi = await lab.start(laptop, { args: ["--continue"], tokensPerSecond: 200 });
    if (round % 2 === 0) await waitUntilLive(pi);
    const before = (await readPiFile(laptop)).lines.length;
    // Mostly while entry after entry is written, sometimes while a single one grows.
    await pi.call("prompt", { message: round % 4 === 3 ? "slow 500" : "steps 200" });
    await delay(killAfterMs);
    if (kind !== "relay") await pi.kill();
    if (kind !== "pi") await lab.killRelay();
    if (kind === "relay") {
      await pi.call("abort");
      await pi.prompt(`while the relay was away, round ${round}`);
    }
    if (kind !== "pi") await lab.startRelay();
    written += (await readPiFile(laptop)).lines.length - before;

    const next = kind === "relay" ? pi : await lab.start(laptop, { args: ["--continue"] });
    await waitUntilLive(next);
    await next.prompt(`after the kill, round ${round}`);
    const { lines } = await readPiFile(laptop);
    await watch.waitForAll(lines.slice(fetched.length).map((line) => JSON.parse(line).id));
    const texts = withoutMoves(await lab.readTexts(phone, sessionId));
    assert.deepEqual([...texts].sort(), lines.slice(1).sort(), `round ${round}, ${kind} killed: the phone's entries`);
    assertOneTree(texts);
    assert.equal(await next.stop(), 0);
  }
  const { lines } = await readPiFile(laptop);
  assert.ok(written > rounds, "pi was killed while it wrote");
  return `${rounds} rounds, seed ${seed}: ${lines.length - 1} entries, ${written} of them written in the turn of a kill; 0 missing, 0 doubled`;
}
