import { copyFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { PiHome } from "../src/pi-home.ts";
import type { PiProcess, PiRecord } from "../src/pi-process.ts";
import { describePi } from "./describe-pi.ts";
import { isLive, readEntries, readPiFile, type SharedPis, startSharedPis, waitForNotice } from "./shared-pis.ts";

let pis: SharedPis;
let laptop: PiHome;
let desktop: PiHome;

beforeEach(async () => {
  pis = await startSharedPis();
  laptop = await pis.addDevice("laptop");
  desktop = await pis.addDevice("desktop");
});
afterEach(() => pis.close());

/** The session of a fresh laptop, shared, and its file on the desktop too. */
async function startOnBoth(): Promise<{ onLaptop: PiProcess; onDesktop: PiProcess }> {
  const onLaptop = await pis.start(laptop, { tokensPerSecond: 20 });
  await onLaptop.prompt("/coppice on");
  await onLaptop.prompt("first");
  await onLaptop.waitForStatus("coppice", isLive);
  const [name = ""] = await readdir(laptop.sessionDir);
  const copy = join(desktop.sessionDir, name);
  await copyFile(join(laptop.sessionDir, name), copy);
  await readEntries(desktop, (await readPiFile(laptop)).header.id);
  const onDesktop = await pis.start(desktop, { args: ["--session", copy] });
  await onDesktop.prompt("/coppice on");
  await onDesktop.waitForStatus("coppice", (text) => /^coppice: live · 2 devices · 0 waiting$/.test(text ?? ""));
  return { onLaptop, onDesktop };
}

const isRunnerWarning = ({ method, message }: PiRecord): boolean =>
  method === "notify" && message.includes("already runs");

describePi("two devices on one session", () => {
  it("[EX18] whoever prompts where an agent runs elsewhere is warned by name, once for each run, and not held up", async () => {
    const { onLaptop, onDesktop } = await startOnBoth();
    expect((await onDesktop.waitForStatus("coppice", isLive)) ?? "").toContain("2 devices");
    await onLaptop.call("prompt", { message: "slow 300" });
    await onDesktop.waitForStatus("coppice", (text) => text?.endsWith("an agent runs on laptop") ?? false);
    const from = onDesktop.records.length;
    await onDesktop.prompt("/coppice devices");
    expect(await waitForNotice(onDesktop, () => true, from)).toContain(
      "laptop · has this session open · an agent runs",
    );
    await onDesktop.prompt("at the same place");
    const warning = await waitForNotice(onDesktop, (text) => text.includes("already runs"));
    expect(warning).toContain("runs on laptop at this place");
    await onDesktop.prompt("and again");
    expect(onDesktop.records.filter(isRunnerWarning)).toHaveLength(1);

    await onLaptop.call("abort");
    await onDesktop.waitForStatus("coppice", isLive);
    await onDesktop.prompt("when it has ended");
    expect(onDesktop.records.filter(isRunnerWarning)).toHaveLength(1);
  });

  it("[EX19] a pi that is opened hears what other devices have added where it stands", async () => {
    const { onLaptop, onDesktop } = await startOnBoth();
    expect(await onLaptop.stop()).toBe(0);
    await onDesktop.prompt("gone on with");
    await onDesktop.waitForStatus("coppice", isLive);
    await readEntries(laptop, (await readPiFile(laptop)).header.id);
    const again = await pis.start(laptop, { args: ["--continue"] });
    expect(await waitForNotice(again, (text) => text.includes("continued"))).toBe(
      "Coppice: continued on desktop: 2 entries; /coppice open to go on there.",
    );
  });
});
