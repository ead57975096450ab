/**
 * What must hold when devices are lost, copied and away for long, with 500 entries of the largest session file of a
 * folder, or of one that is made: `node test/dist/check-devices.js [DIR]`. One line per check; exit 1 when one fails.
 */
import { createCommandHostGoneCheck } from "./command-host-gone-check.ts";
import { createDeviceChecks, readLargestFile } from "./device-checks.ts";
import { runChecks } from "./run-checks.ts";

const entries = 500;
const file = readLargestFile(process.argv[2], entries);
process.exit(await runChecks([...createDeviceChecks(file, entries), createCommandHostGoneCheck(file, entries)]));
