import { execFileSync } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { makeTempFolder } from "./temp-folder.ts";

/** Whether this user may mount a disk of its own: root on Linux. Elsewhere the tests that need one are skipped. */
export const canMount: boolean = process.platform === "linux" && process.getuid?.() === 0;

/** A disk of a few MB that really becomes full. */
export interface SmallDisk {
  readonly folder: string;
  /** Takes all the space there is. */
  fill(): Promise<void>;
  /** Gives it back. */
  empty(): Promise<void>;
}

/** Mounts a disk of this size; it is gone after the test. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await makeTempFolder();
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder]);
  onTestFinished(() => {
    execFileSync("umount", ["--lazy", folder]); // lazily: a child that is being killed may still hold files
  });
  const path = join(folder, "filling");
  return {
    folder,
    async fill() {
      // A block at a time, so that not one is left.
      await writeFile(path, new Uint8Array(megabytes * 1024 * 1024)).catch((error: unknown) => {
        if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
      });
    },
    empty: () => rm(path, { force: true }),
  };
}
