/** `pnpm check`: everything that must hold before a commit. Runs all steps, also after one failed, and lists them. */
import { writeFileSync } from "node:fs";
import { buildPackages, installPackages, requireNode, runStep, runTool } from "./toolchain.mjs";

requireNode();

const steps = [
  { name: "dependencies", run: installPackages },
  // Format, lint, floating promises, import cycles, and the arrows between the layers.
  { name: "lint", run: () => runTool("lint", "@biomejs/biome/bin/biome", ["ci", "--colors=off", "."]) },
  { name: "build", run: buildPackages },
  {
    name: "types",
    run: () => runTool("types", "typescript/bin/tsc", ["-p", "tsconfig.tests.json"]),
  },
  ...(process.env.COPPICE_TESTS_JUST_RAN
    ? []
    : [
        {
          name: "tests",
          run: () => runTool("tests", "vitest/vitest.mjs", ["run", ...process.argv.slice(2)], { showOutput: true }),
        },
      ]),
  // publint and attw. A program of its own, because it imports packages that may not be installed yet.
  { name: "packages", run: () => runStep("packages", process.execPath, ["scripts/check-packages.mjs"]) },
  // The packed packages as npm installs them: the command, ES modules, CommonJS, a Vite bundle, one yjs.
  { name: "install", run: () => runStep("install", process.execPath, ["scripts/check-install.mjs"]) },
  // Unused files, exports and dependencies, and dependencies that are used without being declared.
  { name: "knip", run: () => runTool("knip", "knip/bin/knip.js", ["--no-progress"]) },
  // Brotli bytes of what a browser loads; fails too when a Node module got in.
  { name: "size", run: () => runTool("size", "size-limit/bin.js", []) },
];

if (process.env.COPPICE_TESTS_JUST_RAN) console.log("tests    left out: `npm test` ran them a moment ago");
const results = [];
for (const step of steps) results.push({ name: step.name, passed: (await step.run()) === 0 });

const failed = results.filter((result) => !result.passed);
console.log(`\ncheck    ${results.map((result) => `${result.name} ${result.passed ? "ok" : "FAILED"}`).join(", ")}`);
// For .ci/run, which adds these steps to the count of tests.
if (process.env.COPPICE_CHECK_REPORT) writeFileSync(process.env.COPPICE_CHECK_REPORT, JSON.stringify(results));
process.exitCode = failed.length === 0 ? 0 : 1;
