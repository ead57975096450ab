/** `npm run check:corpus -- FOLDER`: brings what it needs, then checks every session file of a folder. */
import { stat } from "node:fs/promises";
import { installPackages, requireNode, runTool } from "./toolchain.mjs";

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
  process.exitCode =
    (await installPackages()) || (await runTool("build", "typescript/bin/tsc", ["-b", "packages/storage-jsonl"]));
  if (process.exitCode === 0) {
    // In test/, because only there the packages can be imported by their names.
    const { checkCorpus } = await import("../test/check-corpus.mjs");
    process.exitCode = await checkCorpus(folder);
  }
}
