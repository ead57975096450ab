/**
 * pi on several devices, all real processes: `node test/dist/check-pi.js`. One line per check with its figures; exit 1
 * when one fails. KILL_ROUNDS sets how often something is killed (20), KILL_SEED when, ROUND_TRIPS how often two devices
 * take turns (5), ONLY a part of the names of those to run.
 */
import { goBackAndForth } from "./pi-back-and-forth-check.ts";
import { handOver } from "./pi-handover-check.ts";
import { surviveKills } from "./pi-kills-check.ts";
import { type OpeningWay, PiLab } from "./pi-lab.ts";
import { switchOff } from "./pi-off-check.ts";
import { findPiProgram } from "./pi-program.ts";
import { takeInBesidePrompts } from "./pi-taking-in-check.ts";
import { runChecks } from "./run-checks.ts";

const program = findPiProgram();
if (!program.ok) {
  console.error(program.reason);
  process.exit(1);
}
const rounds = Number(process.env.KILL_ROUNDS ?? 20);
const seed = Number(process.env.KILL_SEED ?? Date.now() % 1_000_000);
const roundTrips = Number(process.env.ROUND_TRIPS ?? 5);

const ways: readonly OpeningWay[] = ["by command", "in pi"];

const checks = [
  ...ways.flatMap((way) => [
    { name: `laptop to phone, laptop destroyed, on to desktop ${way}`, run: (lab: PiLab) => handOver(lab, way) },
    { name: `back and forth ${way}, then both at once`, run: (lab: PiLab) => goBackAndForth(lab, roundTrips, way) },
  ]),
  { name: "kill -9 of pi, of the relay, of both", run: (lab: PiLab) => surviveKills(lab, { rounds, seed }) },
  { name: "switched off and uninstalled", run: switchOff },
  { name: "50 MB of sessions are taken in while pi is prompted", run: takeInBesidePrompts },
];

const wanted = checks.filter(({ name }) => name.includes(process.env.ONLY ?? ""));
process.exit(await runChecks(wanted.map(({ name, run }) => ({ name, run: () => inLab(run) }))));

async function inLab(run: (lab: PiLab) => Promise<string>): Promise<string> {
  const lab = await PiLab.open();
  try {
    return await run(lab);
  } finally {
    await lab.close();
  }
}
