import { availableParallelism } from "node:os";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig, type TestProjectConfiguration } from "vitest/config";
import { areBrowserTestsSkipped, chromiumArguments, findChromium } from "./test/src/chromium.ts";
import { createPlantedBugPlugin } from "./test/src/planted-bugs.ts";

// Source runs without a build: the custom condition points every @coppice package at src/index.ts.
const conditions = ["coppice-source", "module", "node", "development|production"];
const browserConditions = ["coppice-source", "module", "browser", "development|production"];

const exclude = ["**/node_modules/**", "**/dist/**"];
// Tests wait for events, never for the clock; these only bound a test that hangs.
const timeouts = { testTimeout: 120_000, hookTimeout: 120_000 };

const inNode: TestProjectConfiguration = {
  plugins: createPlantedBugPlugin(process.env.PLANTED_BUG),
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    ...timeouts,
    name: "node",
    include: ["packages/*/{src,test}/**/*.test.ts", "test/**/*.test.ts", "examples/*/**/*.test.ts"],
    exclude: [...exclude, "**/*.browser.test.ts"],
  },
};

// Tests that run inside a page. Without a Chromium they are left out, or fail where somebody demands them.
const inBrowser: TestProjectConfiguration = {
  resolve: { conditions: browserConditions },
  test: {
    ...timeouts,
    name: "browser",
    include: ["packages/*/test/**/*.browser.test.ts"],
    exclude,
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      instances: [{ browser: "chromium" }],
      provider: playwright({
        launchOptions: {
          executablePath: findChromium() ?? "no Chromium: install it or set CHROMIUM_PATH",
          args: [...chromiumArguments],
        },
      }),
    },
  },
};

const isSkipped = areBrowserTestsSkipped();
if (isSkipped) console.warn("browser tests skipped: no Chromium; set CHROMIUM_PATH");

export default defineConfig({
  test: {
    // Many tests wait for processes they have started: on two cores a single worker, the default, leaves one of them idle.
    maxWorkers: Math.max(availableParallelism(), 3),
    projects: isSkipped ? [inNode] : [inNode, inBrowser],
  },
});
