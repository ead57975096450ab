import { expect, test } from "vitest";
import { runSharedHomeRounds } from "./src/shared-home-rounds.ts";

const killRounds = Number(process.env.KILL_ROUNDS ?? 2);
const entries = Number(process.env.ENTRIES ?? 150);
const seed = Number(process.env.KILL_SEED ?? 11);

test(`[CL8] [CL96] [CL97] two processes on one home without a relay both have all that both append, so has one that comes later, and of ${killRounds} killed in the middle nothing resolved is lost`, {
  timeout: 120_000 + killRounds * 30_000,
}, async () => {
  const report = await runSharedHomeRounds({ killRounds, entries, seed });
  expect(report.entries).toBe(2 * entries);
  expect(report.promisedByKilled).toBeGreaterThan(0);
  expect(report.roundsKilledWhileWriting).toBeGreaterThan(0);
});
