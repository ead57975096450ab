import { describe, expect, it } from "vitest";
import { areBrowserTestsSkipped } from "./src/chromium.ts";
import { createWebChecks } from "./src/web-checks.ts";

describe.skipIf(areBrowserTestsSkipped())("browsers beside other devices, in short", () => {
  it.each(createWebChecks({ rounds: 1, frozenMs: 1_000, largeEntries: 1_000 }))("$name", async ({ run }) => {
    expect(await run()).not.toBe("");
  });
});
