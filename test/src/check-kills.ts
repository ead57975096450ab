/**
 * Kills a relay at random moments under five writers and looks whether anything was lost that was acknowledged or seen:
 * `node test/dist/check-kills.js`. KILL_ROUNDS sets how often (200), KILL_SEED the moments. Exit 1 when something is
 * lost or a restart does not open.
 */
import { runKillRounds } from "./kill-rounds.ts";

const rounds = Number(process.env.KILL_ROUNDS ?? 200);
const seed = Number(process.env.KILL_SEED ?? Date.now() % 1_000_000);
const startedAt = performance.now();
console.log(`${rounds} rounds, seed ${seed}`);
const report = await runKillRounds(rounds, seed);
for (const [name, value] of Object.entries(report)) console.log(`${name.padEnd(28)} ${Math.round(value)}`);
console.log(`0 lost, every restart opened (${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
