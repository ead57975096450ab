/**
 * What `npm start`, `npm test` and `pnpm check` share: bringing pnpm, the packages and the build on a machine that has
 * Node and npm and nothing else. Plain Node without dependencies, because it runs before anything is installed; and
 * without recent syntax, so that an old Node gets as far as the sentence that says it is too old.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the clone. */
export const rootFolder = fileURLToPath(new URL("..", import.meta.url));

/** The version of "packageManager" in package.json; `npx pnpm` does not read that field. */
export const pnpmPackage = "pnpm@12.4.2";
const stampFile = join(rootFolder, "node_modules", ".coppice-installed");
const heartbeatMs = 10000;

/** Ends the process with one sentence when this Node is too old (the same bound as "engines" in package.json). */
export function requireNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(
    `Coppice needs Node 20.19 or newer and this is Node ${process.versions.node}: install a newer one from https://nodejs.org.`,
  );
  process.exit(1);
}

/**
 * Runs a program and says how it went in one line; its output is shown only when it fails, or always with
 * `showOutput`. Settles with the exit code (1 when a signal ended it or it could not start).
 */
export function runStep(label, command, args, options = {}) {
  const startedMs = Date.now();
  const elapsed = () => `${((Date.now() - startedMs) / 1000).toFixed(1)} s`;
  const outputChunks = [];
  process.stdout.write(`${label.padEnd(8)} …\n`);
  const heartbeat = setInterval(() => {
    if (!options.showOutput) process.stdout.write(`${label.padEnd(8)} still working, ${elapsed()}\n`);
  }, heartbeatMs);
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: rootFolder,
      env: { ...process.env, ...options.env },
      stdio: options.showOutput ? "inherit" : ["ignore", "pipe", "pipe"],
      // npx is a .cmd file on Windows, which only a shell can start.
      shell: process.platform === "win32" && command === "npx",
    });
    if (child.stdout && child.stderr) {
      child.stdout.on("data", (chunk) => outputChunks.push(chunk));
      child.stderr.on("data", (chunk) => outputChunks.push(chunk));
    }
    const finish = (code) => {
      clearInterval(heartbeat);
      if (code !== 0) process.stderr.write(Buffer.concat(outputChunks));
      process.stdout.write(`${label.padEnd(8)} ${code === 0 ? "ok" : "FAILED"}, ${elapsed()}\n`);
      resolve(code);
    };
    child.on("error", (error) => {
      outputChunks.push(Buffer.from(`${error.message}\n`));
      finish(1);
    });
    child.on("close", (code) => finish(code === null ? 1 : code));
  });
}

/** Runs a script of an installed package with this Node, found by its path below the root's node_modules. */
export function runTool(label, toolPath, args, options) {
  return runStep(label, process.execPath, [join(rootFolder, "node_modules", toolPath), ...args], options);
}

/** Installs the locked packages, unless exactly these were installed by an earlier call. Settles with the exit code. */
export async function installPackages() {
  const wantedStamp = createHash("sha256")
    // The platform counts: lmdb's native part is chosen at install time.
    .update(`${process.platform} ${process.arch}\n`)
    .update(readFileSync(join(rootFolder, "pnpm-lock.yaml")))
    .digest("hex");
  if (readStamp() === wantedStamp) return 0;
  const code = await runStep("install", "npx", ["-y", pnpmPackage, "install", "--frozen-lockfile"]);
  if (code === 0) {
    mkdirSync(join(rootFolder, "node_modules"), { recursive: true });
    writeFileSync(stampFile, wantedStamp);
  }
  return code;
}

/** Compiles every package into its dist folder, and the app for browsers; quick when nothing changed. Settles with the exit code. */
export async function buildPackages() {
  const code = await runTool("build", "typescript/bin/tsc", ["-b"]);
  return code || runStep("app", process.execPath, ["packages/web/build-app.mjs"]);
}

/**
 * Packs every public package into a folder, as it would be published: with the versions of `workspace:` and `catalog:`
 * written out. Needs the build; throws when pnpm fails.
 */
export function packPackages(folder) {
  // Without a network npx would wait for the registry first, although pnpm was brought at installation.
  const pnpm = ["--prefer-offline", "-y", pnpmPackage];
  const pack = ["--recursive", "--filter", "./packages/*", "pack", "--pack-destination", folder];
  execFileSync("npx", [...pnpm, ...pack], {
    cwd: rootFolder,
    stdio: ["ignore", "ignore", "inherit"],
    shell: process.platform === "win32", // npx is a .cmd file there
  });
}

function readStamp() {
  try {
    return readFileSync(stampFile, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}
