import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findAccessFaults } from "./src/access-faults.ts";
import { areBrowserTestsSkipped } from "./src/chromium.ts";
import { runCommandWell } from "./src/command-process.ts";
import { type WebDevice, WebLab } from "./src/web-lab.ts";

const file = "examples/two-devices/flaky-login-test.jsonl";
const session = "Fix the flaky login test";

describe.skipIf(areBrowserTestsSkipped())("the app for everybody", () => {
  const lab = new WebLab();
  let device: WebDevice;
  beforeAll(async () => {
    await lab.startRelay();
    await lab.makeWorkspace();
    await runCommandWell(["import", file, ...lab.homeOf("laptop")]);
    device = await lab.joinBrowser("phone");
  });
  afterAll(() => lab.close());

  it("[WB20] axe finds nothing serious, nothing scrolls sideways at 320 px, and pages have titles and get the focus", async () => {
    const fresh = await lab.openProfile();
    await fresh.page.getByRole("heading", { name: "Coppice" }).waitFor();
    expect(await findAccessFaults(fresh.page)).toEqual([]);
    const invited = await lab.openProfile(await lab.readWebLink());
    await invited.page.getByRole("heading", { name: "Join this workspace" }).waitFor();
    expect(await findAccessFaults(invited.page)).toEqual([]);
    const { page } = device;
    await page.getByRole("link", { name: session }).waitFor();
    expect(await findAccessFaults(page)).toEqual([]);
    expect(await page.title()).toBe("Sessions · Coppice");
    await page.getByRole("button", { name: /details of the status/ }).click();
    expect(await findAccessFaults(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "New session" }).click();
    expect(await findAccessFaults(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Devices" }).click();
    await page.getByRole("button", { name: "Show the link" }).click();
    await page.getByRole("img", { name: /to be scanned/ }).waitFor();
    expect(await findAccessFaults(page)).toEqual([]);
    expect(await page.title()).toBe("Devices · Coppice");
    await page.getByRole("link", { name: "Sessions" }).click();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
    expect([...fresh.errors, ...invited.errors, ...device.errors]).toEqual([]);
  });

  it("[WB8] [WB14] says who else has a session open, and announces a branch of theirs with a way to it", async () => {
    const { page } = device;
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByText("open on laptop").waitFor();
    const [, firstLine = ""] = readFileSync(file, "utf8").split("\n");
    await runCommandWell(["move", session, JSON.parse(firstLine).id, ...lab.homeOf("laptop")]);
    const said = ["Try it another way", "--role", "user", "--resume", "own"];
    await runCommandWell(["append", session, ...said, ...lab.homeOf("laptop")]);
    await page.getByRole("status").getByText(`laptop added a branch to “${session}”.`).waitFor();
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL(/\/session\/.*entry=/);
    expect(await page.title()).toBe(`${session} · Coppice`);
    expect(device.errors).toEqual([]);
  });
});
