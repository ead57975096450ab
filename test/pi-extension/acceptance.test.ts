import { afterEach, beforeEach, expect, it } from "vitest";
import { surviveKills } from "../src/pi-kills-check.ts";
import { PiLab } from "../src/pi-lab.ts";
import { switchOff } from "../src/pi-off-check.ts";
import { describePi } from "./describe-pi.ts";

let lab: PiLab;

beforeEach(async () => {
  lab = await PiLab.open();
});
afterEach(() => lab.close());

const seed = Number(process.env.SIM_SEED ?? Date.now() % 1_000_000);

// `npm run check:pi` does the same for longer.
describePi("a session of pi's on several devices", () => {
  it("[PI17] pi, then the relay, is killed in a turn: what pi had written is on the other device, each entry once", async () => {
    expect(await surviveKills(lab, { rounds: 2, seed })).toContain("0 missing, 0 doubled");
  });

  it("[PI18] switched off and uninstalled, pi goes on with its file, and nothing leaves it any more", async () => {
    expect(await switchOff(lab)).toContain("pi goes on without Coppice");
  });
});
