import type { NetworkCheck } from "./network-lab.ts";

/** Runs checks one after the other, a line for each with its figures and a last one that counts; the exit code. */
export async function runChecks(checks: readonly NetworkCheck[]): Promise<0 | 1> {
  let failed = 0;
  for (const { name, run } of checks) {
    const startedAt = performance.now();
    try {
      const figures = await run();
      console.log(`pass  ${name}: ${figures} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL  ${name}\n${error instanceof Error ? error.stack : String(error)}`);
    }
  }
  console.log(`${checks.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}
