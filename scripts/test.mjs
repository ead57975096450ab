/** `npm test`: brings everything, then runs the test suite. Arguments go to vitest. */
import { buildPackages, installPackages, requireNode, runTool } from "./toolchain.mjs";

requireNode();
process.exitCode =
  (await installPackages()) ||
  (await buildPackages()) ||
  (await runTool("tests", "vitest/vitest.mjs", ["run", ...process.argv.slice(2)], { showOutput: true }));
