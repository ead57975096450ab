/**
 * `pnpm bench [-- --baseline] [NAME…]`: runs the benchmarks (those whose file names hold a NAME), each in a process of
 * its own, prints a table and writes `latest.json`; with `--baseline` it writes `baseline.json`, which is committed.
 * Budgets are goals: missing one is shown and does not fail.
 */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const folder = new URL(".", import.meta.url);
const formats = { us: formatUs, bytes: formatBytes, times: (times) => `${times.toPrecision(3)}x` };
const baselineUrl = new URL("baseline.json", folder);
const args = process.argv.slice(2).filter((arg) => arg !== "--");
const isBaseline = args.includes("--baseline");
const names = args.filter((arg) => arg !== "--baseline");
const allPrograms = readdirSync(folder).filter((file) => file.endsWith(".bench.mjs"));
const programs = allPrograms.filter((file) => names.length === 0 || names.some((name) => file.includes(name)));

if (programs.length === 0 || (isBaseline && names.length > 0)) {
  if (programs.length === 0) console.error(`There is no benchmark called ${names.join(" or ")}.`);
  console.error("Usage: pnpm bench [NAME…], or pnpm bench --baseline to measure everything anew. Names:");
  for (const file of allPrograms) console.error(`  ${file.replace(".bench.mjs", "")}`);
  process.exit(2);
}

// Before the first benchmark adds its own share.
const machine = describeMachine();
const baseline = readBaseline();
const benchmarks = [];
for (const program of programs) {
  for (const benchmark of await runProgram(program)) {
    if (benchmark.remark !== undefined) console.log(`\n${benchmark.remark}`);
    else {
      benchmarks.push(benchmark);
      printTable(benchmark);
    }
  }
}
writeFileSync(
  isBaseline ? baselineUrl : new URL("latest.json", folder),
  `${JSON.stringify({ measuredOn: new Date().toISOString().slice(0, 10), ...machine, benchmarks }, null, 2)}\n`,
);

async function runProgram(program) {
  process.stderr.write(`${program} …\n`);
  const path = fileURLToPath(new URL(program, folder));
  const { stdout } = await promisify(execFile)(process.execPath, [path], { cwd: fileURLToPath(folder) });
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

function printTable({ title, unit, rows }) {
  console.log(`\n${title}`);
  const format = formats[unit];
  const nameWidth = Math.max(...rows.map(({ name }) => name.length));
  for (const row of rows) {
    const before = findInBaseline(title, row.name);
    const cells = [
      row.name.padEnd(nameWidth),
      format(row.median).padStart(9),
      (row.rounds === 1 ? "" : `${format(row.lowest)} to ${format(row.highest)}`).padEnd(20),
      (before === undefined ? "" : `baseline ${format(before.median)}`).padEnd(18),
      (row.budgets ?? []).map((budget) => describeBudget(budget, format)).join("; "),
    ];
    console.log(`  ${cells.join("  ").trimEnd()}`);
  }
}

function describeBudget(budget, format) {
  const verdict = budget.isMet ? "within" : "OVER";
  if ("atMost" in budget) return `${verdict} the budget of ${format(budget.atMost)}`;
  return `${budget.measured}x, ${verdict} the budget of ${budget.times}x of ${budget.of}`;
}

function formatUs(us) {
  if (us < 1000) return `${us.toPrecision(3)} µs`;
  return us < 1_000_000 ? `${(us / 1000).toPrecision(3)} ms` : `${(us / 1_000_000).toPrecision(3)} s`;
}

function formatBytes(bytes) {
  if (Math.abs(bytes) < 1000) return `${Math.round(bytes)} B`;
  return Math.abs(bytes) < 1_000_000
    ? `${(bytes / 1000).toPrecision(3)} kB`
    : `${(bytes / 1_000_000).toPrecision(3)} MB`;
}

function findInBaseline(title, name) {
  return baseline.benchmarks.find((benchmark) => benchmark.title === title)?.rows.find((row) => row.name === name);
}

function readBaseline() {
  try {
    return JSON.parse(readFileSync(baselineUrl, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return { benchmarks: [] };
    throw error;
  }
}

/** What figures depend on: machine and how busy it is with other things, Node, and the libraries that do the work. */
function describeMachine() {
  return {
    machine: {
      processor: os.cpus()[0]?.model.trim() ?? "unknown",
      processors: os.cpus().length,
      loadAverage: Number(os.loadavg()[0].toFixed(1)),
      memoryGb: Math.round(os.totalmem() / 1e9),
      system: `${os.type()} ${os.release()} ${os.arch()}`,
    },
    node: process.versions.node,
    libraries: {
      yjs: readVersion("yjs", "@coppice/storage-yjs"),
      "@noble/ciphers": readVersion("@noble/ciphers", "@coppice/storage-yjs"),
      fflate: readVersion("fflate", "@coppice/storage-yjs"),
      lmdb: readVersion("lmdb", "@coppice/persist-lmdb"),
    },
  };
}

/** The version that a package of ours uses: not every library lets its package.json be imported, so it is looked for. */
function readVersion(library, user) {
  const { resolve } = createRequire(new URL(`node_modules/${user}/package.json`, folder));
  for (const searched of resolve.paths(library) ?? []) {
    try {
      return JSON.parse(readFileSync(`${searched}/${library}/package.json`, "utf8")).version;
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
  }
  throw new Error(`${user} does not bring ${library}`);
}
