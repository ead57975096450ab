import { afterEach, beforeEach, expect, it } from "vitest";
import { goBackAndForth } from "../src/pi-back-and-forth-check.ts";
import { handOver } from "../src/pi-handover-check.ts";
import { surviveKills } from "../src/pi-kills-check.ts";
import { PiLab } from "../src/pi-lab.ts";
import { switchOff } from "../src/pi-off-check.ts";
import { describePi } from "./describe-pi.ts";

let lab: PiLab;

beforeEach(async () => {
  lab = await PiLab.open();
});
afterEach(() => lab.close());

/** Each is one long conversation of several processes. */
const timeout = 120_000;
const seed = Number(process.env.SIM_SEED ?? Date.now() % 1_000_000);

// `npm run check:pi` does the same for longer.
describePi("a session of pi's on several devices", () => {
  it("[PI15] another device follows entry by entry, and when the first is destroyed a third one's model is sent what its would have been", {
    timeout,
  }, async () => {
    expect(await handOver(lab, "in pi")).toContain("desktop's model is sent the same");
  });

  it("[PI16] F97: in turns, then at once on different branches: one tree, one root, nothing twice, and each pi is on its own branch after a restart", {
    timeout,
  }, async () => {
    expect(await goBackAndForth(lab, 1, "by command")).toContain("one root, nothing twice");
  });

  it("[PI17] pi, then the relay, is killed in a turn: what pi had written is on the other device, each entry once", {
    timeout,
  }, async () => {
    expect(await surviveKills(lab, { rounds: 2, seed })).toContain("0 missing, 0 doubled");
  });

  it("[PI18] switched off and uninstalled, pi goes on with its file, and nothing leaves it any more", {
    timeout,
  }, async () => {
    expect(await switchOff(lab)).toContain("pi goes on without Coppice");
  });
});
