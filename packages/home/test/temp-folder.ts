import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A new empty folder by its real path, removed when the test has finished. */
export async function makeTempFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "coppice-home-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
