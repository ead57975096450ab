import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { areBrowserTestsSkipped } from "./test/src/chromium.ts";
import { createPlantedBugPlugin } from "./test/src/planted-bugs.ts";

// Source runs without a build: the custom condition points every @coppice package at src/index.ts.
const conditions = ["coppice-source", "module", "node", "development|production"];

if (areBrowserTestsSkipped()) console.warn("browser tests skipped: no Chromium; set CHROMIUM_PATH");

export default defineConfig({
  plugins: createPlantedBugPlugin(process.env.PLANTED_BUG),
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/{src,test}/**/*.test.ts", "test/**/*.test.ts", "examples/*/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    // Many tests wait for processes they have started: on two cores a single worker, the default, leaves one of them idle.
    maxWorkers: Math.max(availableParallelism(), 3),
    // Tests wait for events, never for the clock; this only bounds a test that hangs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
