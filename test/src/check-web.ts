/**
 * What must hold in browsers, with a real relay, devices of the command and Chromium: `node test/dist/check-web.js`.
 * One line per check with its figures; exit 1 when one fails. FROZEN_SECONDS (default 300) is how long a tab sleeps,
 * ONLY runs the checks whose names hold it, and PICTURES is a folder for pictures of the tabs of one that fails.
 */
import { runChecks } from "./run-checks.ts";
import { createWebChecks } from "./web-checks.ts";

const frozenMs = Number(process.env.FROZEN_SECONDS ?? 300) * 1_000;
const only = process.env.ONLY ?? "";
const checks = createWebChecks({ rounds: 10, frozenMs, largeEntries: 10_000, pictures: process.env.PICTURES });
process.exit(await runChecks(checks.filter(({ name }) => name.includes(only))));
