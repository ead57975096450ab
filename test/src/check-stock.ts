/**
 * Shows what stock y-websocket clients get from a real relay process, and in what time: `node test/dist/check-stock.js`.
 * Takes about three minutes, because clients are left idle for two. Exit 1 when a promise is broken.
 */
import { createStockChecks } from "./stock-checks.ts";

let failed = 0;
for (const { name, run } of createStockChecks({ downtimeMs: 5_000, idleMs: 120_000, resyncIntervalMs: 5_000 })) {
  try {
    console.log(`pass  ${name}: ${await run()}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${error instanceof Error ? error.stack : String(error)}`);
  }
}
process.exit(failed === 0 ? 0 : 1);
