/**
 * `npm run check:home`: the long mode of what the tests do in short with several processes on one home, without a relay:
 * two write at once, then one is killed at random moments (KILL_ROUNDS, 20; ENTRIES of each, 1,000).
 */
import { join } from "node:path";
import { buildPackages, installPackages, requireNode, rootFolder, runStep } from "./toolchain.mjs";

requireNode();
if (process.argv.length > 2) {
  console.error("Usage: npm run check:home");
  process.exitCode = 2;
} else {
  process.exitCode = (await installPackages()) || (await buildPackages());
  if (process.exitCode === 0) {
    const program = join(rootFolder, "test", "dist", "check-shared-home.js");
    process.exitCode = await runStep("home", process.execPath, [program], { showOutput: true });
  }
}
