import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];

/** Where others put it that is not on the PATH. */
const otherPlaces = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** Arguments of every Chromium that tests start: nothing that it does by itself, no window, no GPU. */
export const chromiumArguments: readonly string[] = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The system's Chromium: the one that CHROMIUM_PATH names, or the first that is found; undefined without any. */
export function findChromium(): string | undefined {
  const named = process.env.CHROMIUM_PATH;
  if (named) {
    if (isProgram(named)) return named;
    throw new Error(`CHROMIUM_PATH is ${named}, and there is no program.`);
  }
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return [...folders.flatMap((folder) => names.map((name) => join(folder, name))), ...otherPlaces].find(isProgram);
}

/**
 * Whether tests in a browser are left out: this machine has no Chromium, and nobody demands one. Where CI or
 * COPPICE_NEED_CHROMIUM is set, they run in any case, and fail without one.
 */
export function areBrowserTestsSkipped(): boolean {
  return findChromium() === undefined && !process.env.CI && !process.env.COPPICE_NEED_CHROMIUM;
}

/** The path of Chromium; throws one sentence when there is none. */
export function requireChromium(): string {
  const path = findChromium();
  if (path === undefined) throw new Error("No Chromium was found: install it, or set CHROMIUM_PATH.");
  return path;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // not there, or not to be run: either way not this one
  }
}
