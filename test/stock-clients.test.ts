import { describe, expect, it } from "vitest";
import { createStockChecks } from "./src/stock-checks.ts";

describe("a relay process and stock y-websocket clients", () => {
  const checks = createStockChecks({ downtimeMs: 500, idleMs: 2_000, resyncIntervalMs: 500 });
  it.each(checks)("$name", { timeout: 120_000 }, async ({ run }) => {
    expect(await run()).toMatch(/\d/);
  });
});
