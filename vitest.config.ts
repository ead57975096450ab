import { defineConfig } from "vitest/config";

// Source runs without a build: the custom condition points every @coppice package at src/index.ts.
const conditions = ["coppice-source", "module", "node", "development|production"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/{src,test}/**/*.test.ts", "test/**/*.test.ts", "examples/*/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    // Tests wait for events, never for the clock; this only bounds a test that hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
