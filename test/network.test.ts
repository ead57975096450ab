import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createNetworkChecks } from "./src/network-checks.ts";

describe("a relay process and device processes", () => {
  const folder = fileURLToPath(new URL("fixtures", import.meta.url));
  const checks = createNetworkChecks({ folder, killRounds: Number(process.env.KILL_ROUNDS ?? 3) });
  it.each(checks)("$name", { timeout: 300_000 }, async ({ run }) => {
    expect(await run()).toMatch(/\d/);
  });
});
