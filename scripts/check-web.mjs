/** `npm run check:web`: the long mode of what the tests do in short with browsers. FROZEN_SECONDS and ONLY as in test/src/check-web.ts. */
import { join } from "node:path";
import { buildPackages, installPackages, requireNode, rootFolder, runStep } from "./toolchain.mjs";

requireNode();
process.exitCode = (await installPackages()) || (await buildPackages());
if (process.exitCode === 0) {
  const program = [join(rootFolder, "test", "dist", "check-web.js")];
  process.exitCode = await runStep("web", process.execPath, program, { showOutput: true });
}
