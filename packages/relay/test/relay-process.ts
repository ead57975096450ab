import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { RelayLimits } from "@coppice/relay";
import { onTestFinished } from "vitest";

/** A relay in a process of its own, on a folder. */
export interface RelayProcess {
  readonly url: string;
  readonly port: number;
  /** Ends the process as a power cut would, and waits for its end. */
  kill(): Promise<void>;
}

/** Builds the relay and the store: the child runs in a Node that knows no TypeScript. */
export async function buildRelay(): Promise<void> {
  const tsc = join(createRequire(import.meta.url).resolve("typescript/package.json"), "../bin/tsc");
  const folders = ["..", "../../persist-lmdb"].map((path) => fileURLToPath(new URL(path, import.meta.url)));
  await promisify(execFile)(process.execPath, [tsc, "-b", ...folders]);
}

/** A new folder on disk, removed after the test. */
export async function makeTempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-relay-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function startRelayProcess(
  folder: string,
  port = 0,
  limits: Partial<RelayLimits> = {},
): Promise<RelayProcess> {
  const script = fileURLToPath(new URL("children/serve.mjs", import.meta.url));
  const child = spawn(process.execPath, [script, folder, String(port), JSON.stringify(limits)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const [url] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return {
    url,
    port: Number(new URL(url).port),
    async kill() {
      const ended = once(child, "close");
      child.kill("SIGKILL");
      await ended;
    },
  };
}
