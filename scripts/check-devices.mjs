/**
 * `npm run check:devices [-- FOLDER]`: the long mode of what the tests do in short with real processes: a host that is
 * gone, copied homes, restored and wiped relays, a week offline; with the largest session file of a folder, or one that is made. Prints measured times.
 */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { buildPackages, installPackages, requireNode, rootFolder, runStep } from "./toolchain.mjs";

requireNode();
const [folder, ...more] = process.argv.slice(2);
const isFolder =
  folder === undefined ||
  (await stat(folder).then(
    (stats) => stats.isDirectory(),
    () => false,
  ));
if (!isFolder || more.length > 0) {
  console.error("Usage: npm run check:devices [-- FOLDER]   (session files)");
  process.exitCode = 2;
} else {
  process.exitCode = (await installPackages()) || (await buildPackages());
  if (process.exitCode === 0) {
    const program = [join(rootFolder, "test", "dist", "check-devices.js"), ...(folder ? [resolve(folder)] : [])];
    process.exitCode = await runStep("devices", process.execPath, program, { showOutput: true });
  }
}
