/**
 * Two processes on one home, without a relay: both write at once, then one is killed at random moments:
 * `node test/dist/check-shared-home.js`. KILL_ROUNDS sets how often (20), KILL_SEED the moments, ENTRIES what each
 * appends (1,000). Exit 1 when a process does not see all of it, or something is lost whose append had resolved.
 */
import { runSharedHomeRounds } from "./shared-home-rounds.ts";

const killRounds = Number(process.env.KILL_ROUNDS ?? 20);
const entries = Number(process.env.ENTRIES ?? 1_000);
const seed = Number(process.env.KILL_SEED ?? Date.now() % 1_000_000);
const startedAt = performance.now();
console.log(`${killRounds} rounds, ${entries} entries each, seed ${seed}`);
const report = await runSharedHomeRounds({ killRounds, entries, seed });
const format = ({ medianMs, p99Ms, maxMs }: typeof report.delay): string =>
  `median ${medianMs.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, most ${maxMs.toFixed(1)} ms`;
console.log(`both have                    ${report.entries}`);
console.log(`seen by others, both writing ${format(report.delay)}`);
console.log(`seen by others, in turn      ${format(report.quietDelay)}`);
console.log(`killed while writing         ${report.roundsKilledWhileWriting} of ${report.killRounds}`);
console.log(`resolved before the kill     ${report.promisedByKilled}`);
console.log(`0 lost (${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
