/**
 * Runs the promises of the network on any folder of session files, with a real relay process and device processes on
 * stores of their own: `node test/dist/check-network.js DIR`. One line per check; exit 1 when one fails, 2 when
 * misused. KILL_ROUNDS sets how often the relay is killed (10).
 */
import { existsSync } from "node:fs";
import { createNetworkChecks } from "./network-checks.ts";
import { runChecks } from "./run-checks.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined || !existsSync(folder)) {
  console.error("usage: check-network.js DIR, a folder of session files");
  process.exit(2);
}
const checks = createNetworkChecks({ folder, killRounds: Number(process.env.KILL_ROUNDS ?? 10) });
process.exit(await runChecks(checks));
