/**
 * `npm run check:pi`: the long mode of what the tests do in short with a real pi on several devices: a session handed
 * over, taken in turns, written to at once, killed at random moments (KILL_ROUNDS, 20), switched off.
 */
import { join } from "node:path";
import { buildPackages, installPackages, requireNode, rootFolder, runStep } from "./toolchain.mjs";

requireNode();
if (process.argv.length > 2) {
  console.error("Usage: npm run check:pi");
  process.exitCode = 2;
} else {
  process.exitCode = (await installPackages()) || (await buildPackages());
  if (process.exitCode === 0) {
    const program = join(rootFolder, "test", "dist", "check-pi.js");
    process.exitCode = await runStep("pi", process.execPath, [program], { showOutput: true });
  }
}
