/**
 * `npm run check:relay -- kills|stock|hostile`: the long mode of what the tests do in short with a real relay process. `kills`:
 * killed at random moments (KILL_ROUNDS, 200); `stock`: y-websocket clients, their times, two idle minutes; `hostile`: 100,000 bad frames and more (HOSTILE_FRAMES, HOSTILE_SEED).
 */
import { join } from "node:path";
import { buildPackages, installPackages, requireNode, rootFolder, runStep } from "./toolchain.mjs";

const checks = ["kills", "stock", "hostile"];
requireNode();
const [name, ...more] = process.argv.slice(2);
if (!checks.includes(name) || more.length > 0) {
  console.error(`Usage: npm run check:relay -- ${checks.join("|")}`);
  process.exitCode = 2;
} else {
  process.exitCode = (await installPackages()) || (await buildPackages());
  if (process.exitCode === 0) {
    const program = join(rootFolder, "test", "dist", `check-${name}.js`);
    process.exitCode = await runStep(name, process.execPath, [program], { showOutput: true });
  }
}
