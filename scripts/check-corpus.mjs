/** `npm run check:corpus -- FOLDER`: brings what it needs, then checks every session file of a folder: reading, network, command. */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { buildPackages, installPackages, requireNode, rootFolder, runStep } from "./toolchain.mjs";

requireNode();
const [folder, ...more] = process.argv.slice(2);
const isFolder =
  folder !== undefined &&
  (await stat(folder).then(
    (stats) => stats.isDirectory(),
    () => false,
  ));
if (!isFolder || more.length > 0) {
  if (folder !== undefined && more.length === 0) console.error(`${folder} is not a folder.`);
  console.error("Usage: npm run check:corpus -- FOLDER   (session files, with or without an expected.json)");
  process.exitCode = 2;
} else {
  process.exitCode = (await installPackages()) || (await buildPackages());
  if (process.exitCode === 0) {
    // In test/, because only there the packages can be imported by their names.
    const { checkCorpus } = await import("../test/check-corpus.mjs");
    process.exitCode = await checkCorpus(folder);
    // The same files through a real relay and device processes, then through the command alone.
    for (const script of ["check-network.js", "check-command.js"]) {
      const path = join(rootFolder, "test", "dist", script);
      const code = await runStep(script.slice(0, -3), process.execPath, [path, resolve(folder)], { showOutput: true });
      process.exitCode ||= code;
    }
  }
}
