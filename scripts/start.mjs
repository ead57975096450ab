/** `npm start`: brings everything, then runs the demo of two devices. Arguments go to the demo. */
import { buildPackages, installPackages, requireNode } from "./toolchain.mjs";

requireNode();
process.exitCode = (await installPackages()) || (await buildPackages());
if (process.exitCode === 0) {
  // In this process, so that Ctrl-C and the exit code are the demo's own.
  await import("../examples/two-devices/run.mjs");
}
