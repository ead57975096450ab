import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A new folder on disk, removed after the test. */
export async function makeTempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-persist-lmdb-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
