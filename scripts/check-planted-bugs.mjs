/**
 * `npm run check:planted-bugs -- [BUG…]`: plants known mistakes in the sources, one after the other and in memory only,
 * and sees whether the tests notice. Prints a table; fails when a bug survives.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPackages, installPackages, requireNode, rootFolder } from "./toolchain.mjs";

requireNode();
const runs = process.env.SIM_RUNS ?? "150";
process.exitCode = (await installPackages()) || (await buildPackages());
if (process.exitCode === 0) {
  // Compiled, because Node 20 reads no TypeScript.
  const { plantedBugs } = await import("../test/dist/planted-bugs.js");
  const wanted = process.argv.slice(2);
  const bugs = wanted.length === 0 ? plantedBugs : plantedBugs.filter(({ name }) => wanted.includes(name));
  // Tests that fail anyway would seem to catch everything.
  const failure = await catchBug({ name: "", tests: [...new Set(bugs.flatMap(({ tests }) => tests))] }, "1");
  if (failure !== undefined) throw new Error(`Without any bug the tests fail: ${failure}`);
  const outcomes = [];
  for (const bug of bugs) {
    const outcome = await catchBug(bug);
    outcomes.push(outcome);
    console.log(`${outcome === undefined ? "SURVIVED" : "caught  "}  ${bug.name.padEnd(42)} ${outcome ?? ""}`);
  }
  const survivors = outcomes.filter((outcome) => outcome === undefined).length;
  console.log(`${bugs.length - survivors} caught, ${survivors} survived`);
  process.exitCode = survivors === 0 && bugs.length > 0 ? 0 : 1;
}

/** What the failing test says of the bug; undefined when every test passes with it. */
async function catchBug({ name, tests }, simulatedRuns = runs) {
  const folder = mkdtempSync(join(tmpdir(), "coppice-planted-"));
  try {
    const report = join(folder, "report.json");
    const vitest = join(rootFolder, "node_modules", "vitest", "vitest.mjs");
    const child = spawn(process.execPath, [vitest, "run", ...tests, "--reporter=json", `--outputFile=${report}`], {
      cwd: rootFolder,
      env: { ...process.env, PLANTED_BUG: name, SIM_RUNS: simulatedRuns },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const errors = [];
    child.stderr.on("data", (chunk) => errors.push(chunk));
    const code = await new Promise((resolve) => child.on("close", resolve));
    if (code === 0) return undefined;
    const { testResults } = readReport(report, errors);
    const failed = testResults.flatMap((file) => file.assertionResults).filter(({ status }) => status === "failed");
    // Not a test but the run itself failed: that says nothing of the bug.
    if (failed.length === 0) throw new Error(`The tests did not run: ${Buffer.concat(errors)}`);
    const [{ title, failureMessages }] = failed;
    // Of a simulated world the violation, not the whole property.
    const cause = failureMessages.join("\n").match(/(?:at \d\d:\d\d\.\d+ |Not within )[^\n]*/)?.[0];
    return cause ?? title;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readReport(path, errors) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new Error(`The tests did not run: ${Buffer.concat(errors)}`, { cause });
  }
}
