/**
 * A relay process among hostile clients: `node test/dist/check-hostile.js`. Prints a table: what was done, how others
 * in another room fared meanwhile, and the relay's memory. HOSTILE_FRAMES (100,000) and HOSTILE_SEED set the random
 * part. Exit 1 when the relay or somebody else was harmed.
 */
import { setTimeout as pass } from "node:timers/promises";
import { createHostileChecks } from "./hostile-checks.ts";
import { HostileLab } from "./hostile-lab.ts";

const seed = Number(process.env.HOSTILE_SEED ?? Date.now() % 1_000_000);
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0).padStart(5);
/** Median, 99th percentile and longest, each a column. */
const columns = (tookMs: readonly number[]): string => {
  const sorted = [...tookMs].sort((left, right) => left - right);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return [0.5, 0.99, 1].map((share) => at(share).toFixed(1).padStart(8)).join("");
};
const allTookMs: number[] = [];
const amounts = { brokenStreams: 2_000, cursors: 20_000, connects: 10_000, unreadBytes: 60_000_000 };
const frames = Number(process.env.HOSTILE_FRAMES ?? 100_000);
const lab = await HostileLab.open();
let failed = 0;
try {
  // What a relay takes once, it keeps: compiled code, a grown heap. Growth is counted from there.
  for (const { run } of createHostileChecks({
    seed,
    frames: 2_000,
    ...amounts,
    cursors: 400,
    connects: 500,
    unreadBytes: 8e6,
  })) {
    await run(lab);
  }
  await lab.takeFigures();
  await pass(5_000);
  const quiet = await lab.takeFigures();
  console.log(`seed ${seed}`);
  console.log("  p50 ms   p99 ms   worst   peak MB   then MB   what was done");
  console.log(
    `${columns(quiet.tookMs)}  ${megabytes(quiet.peakBytes)}   ${megabytes(quiet.bytes)}   nothing, for 5 seconds`,
  );
  for (const { name, run } of createHostileChecks({ seed, frames, ...amounts })) {
    try {
      const outcome = await run(lab);
      const { tookMs, peakBytes, bytes } = await lab.takeFigures();
      allTookMs.push(...tookMs);
      console.log(`${columns(tookMs)}  ${megabytes(peakBytes)}   ${megabytes(bytes)}   ${name}: ${outcome}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL  ${name}: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
  // An attack of a second is over before the others have appended a hundred times: its p99 is its worst.
  console.log(`${columns(allTookMs)}                      all of it, ${allTookMs.length} appends of others`);
  // Rooms leave memory after 10 s.
  await pass(15_000);
  const { bytes } = await lab.takeFigures();
  console.log(`15 s later: ${megabytes(bytes)} MB`);
  await lab.assertRoomsAreWhole();
  await lab.restartRelay();
  console.log(
    `after a kill: ${await lab.assertRoomsAreWhole()} rooms loaded by Yjs with their history and nothing pending`,
  );
} catch (error) {
  failed += 1;
  console.log(error);
} finally {
  await lab.close();
}
process.exit(failed === 0 ? 0 : 1);
