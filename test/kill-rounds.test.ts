import { expect, test } from "vitest";
import { runKillRounds } from "./src/kill-rounds.ts";

const rounds = Number(process.env.KILL_ROUNDS ?? 10);
const seed = Number(process.env.KILL_SEED ?? 32);

test(`[RL12] [RL19] F32: killed ${rounds} times at random moments under five writers, a relay opens every time and has all that was acknowledged or seen`, {
  timeout: 60_000 + rounds * 10_000,
}, async () => {
  const report = await runKillRounds(rounds, seed);
  expect(report.acknowledged).toBeGreaterThan(0);
  expect(report.seenByOthers).toBeGreaterThan(0);
  expect(report.roundsWithRecordsUnderWay).toBeGreaterThan(0);
});
