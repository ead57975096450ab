/** `npm run simulate -- [RUNS] [SEED]`: the simulation's long mode, without anything else of the tests. */
import { buildPackages, installPackages, requireNode, runTool } from "./toolchain.mjs";

requireNode();
const [runs = "5000", seed = "", ...more] = process.argv.slice(2);
if (more.length > 0 || !/^\d+$/.test(runs) || !/^-?\d*$/.test(seed)) {
  console.error("Usage: npm run simulate -- [RUNS] [SEED]   (default 5000 runs and a new seed)");
  process.exitCode = 2;
} else {
  process.env.SIM_RUNS = runs;
  process.env.SIM_SEED = seed;
  process.exitCode =
    (await installPackages()) ||
    (await buildPackages()) ||
    (await runTool("simulate", "vitest/vitest.mjs", ["run", "test/simulation/simulation.test.ts"], {
      showOutput: true,
    }));
}
