import { describe, expect, it } from "vitest";
import { createCommandHostGoneCheck } from "./src/command-host-gone-check.ts";
import { createDeviceChecks, readLargestFile } from "./src/device-checks.ts";

describe("devices that are lost, copied and away", () => {
  const entries = 60;
  const file = readLargestFile(undefined, entries);
  const checks = [...createDeviceChecks(file, entries), createCommandHostGoneCheck(file, entries)];
  it.each(checks)("$name", { timeout: 300_000 }, async ({ run }) => {
    expect(await run()).toMatch(/\d/);
  });
});
