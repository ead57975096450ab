import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { runCommandJson, runCommandWell } from "./command-process.ts";
import { writeMadeSession } from "./made-session.ts";
import { type NetworkCheck, showMs } from "./network-lab.ts";
import { type WebDevice, WebLab, whenShown } from "./web-lab.ts";

/** How long the checks take, and how much they do. */
export interface WebCheckOptions {
  /** How often each thing is measured. */
  readonly rounds: number;
  /** How long a tab stays frozen while entries arrive, in ms. */
  readonly frozenMs: number;
  /** Entries of the large session. */
  readonly largeEntries: number;
  /** A folder for pictures of the tabs of a check that fails. */
  readonly pictures?: string | undefined;
}

const sessionId = "web-session";
const startedAt = "2026-03-02T08:00:00.000Z";

/** What must hold in browsers: together with other devices, frozen, offline, and with a large session. */
export function createWebChecks(options: WebCheckOptions): NetworkCheck[] {
  const { pictures } = options;
  const check = (name: string, run: (lab: WebLab) => Promise<string>): NetworkCheck => ({
    name,
    async run() {
      const lab = new WebLab();
      try {
        await lab.startRelay();
        await lab.makeWorkspace();
        return await run(lab);
      } catch (error) {
        if (pictures !== undefined) await lab.takePictures(pictures);
        throw error;
      } finally {
        await lab.close();
      }
    },
  });
  return [
    check("[WB40] two browsers and a device of the command in one session", (lab) => together(lab, options)),
    check("[WB41] a tab that was frozen while entries arrived", (lab) => frozen(lab, options)),
    check("[WB42] a browser without a network: reloaded, written in, closed, opened", offline),
    check("[WB43] a large session", (lab) => large(lab, options)),
  ];
}

/** Brings in a session of one question and one answer, and as many more messages below it. */
async function importSmall(lab: WebLab, more = 0): Promise<void> {
  const say = (id: string, parentId: string | null, role: string, text: string): object => ({
    ...{ type: "message", id, parentId, timestamp: startedAt },
    message: { role, content: [{ type: "text", text }], timestamp: 1 },
  });
  const header = { type: "session", version: 3, id: sessionId, timestamp: startedAt, cwd: "/web" };
  const entries = [say("e1", null, "user", "Why does it fail?"), say("e2", "e1", "assistant", "The clock is late.")];
  for (let at = 0; at < more; at++)
    entries.push(say(`m${at}`, at === 0 ? "e2" : `m${at - 1}`, "user", `While you slept ${at}.`));
  const path = join(lab.scratch, "session.jsonl");
  writeFileSync(path, [header, ...entries].map((line) => JSON.stringify(line)).join("\n"));
  await runCommandWell(["import", path, ...lab.homeOf("laptop")]);
}

async function openSession(lab: WebLab, page: Page, text = "The clock is late."): Promise<void> {
  await page.goto(`${lab.app}/session/${sessionId}`);
  await whenShown(page, text);
  // All of it is here.
  await page.getByRole("textbox", { name: /^Message/ }).waitFor();
}

/** Writes as a person does; when it was sent off, in ms since 1970. */
async function write(page: Page, text: string): Promise<number> {
  await page.getByRole("textbox", { name: /^Message/ }).fill(text);
  const button = page.getByRole("button", { name: "Add", exact: true });
  const at = Date.now();
  await button.click();
  return at;
}

/** Chooses from the menu of an entry's row in the tree. */
async function chooseInTree(page: Page, row: string, item: string | RegExp): Promise<void> {
  const place = page.getByRole("treeitem").filter({ hasText: row }).first();
  await place.focus();
  await place.press("ContextMenu");
  await page.getByRole("menuitem", { name: item }).click();
}

/** Where a device stands: the row of the tree that bears its name. */
function markOf(page: Page, row: string, device: string) {
  return page.getByRole("treeitem").filter({ hasText: row }).filter({ hasText: device });
}

async function together(lab: WebLab, { rounds }: WebCheckOptions): Promise<string> {
  await importSmall(lab);
  const laptop = lab.homeOf("laptop");
  const [phone, tablet] = [await lab.joinBrowser("phone"), await lab.joinBrowser("tablet")];
  for (const { page } of [phone, tablet]) {
    // Lists draw what is in sight alone: high enough for everything that is written here.
    await page.setViewportSize({ width: 1280, height: 600 + rounds * 200 });
    await openSession(lab, page);
  }
  const seen = lab.watch("laptop", sessionId);
  await seen.waitForLine((line) => line.coppice === "watch");
  const figures: Record<string, number[]> = { browser: [], command: [], "to browsers": [], label: [], branch: [] };
  for (let round = 0; round < rounds; round++) {
    const text = `Written on the phone ${round}.`;
    const at = await write(phone.page, text);
    const onTablet = whenShown(tablet.page, text);
    await seen.waitForLine((line) => JSON.stringify(line).includes(text));
    figures.command?.push(Date.now() - at);
    figures.browser?.push((await onTablet) - at);

    const other = `Written on the laptop ${round}.`;
    const shown = [phone, tablet].map(({ page }) => whenShown(page, other));
    const before = Date.now();
    await runCommandJson(["append", sessionId, "--role", "user", other, ...laptop]);
    figures["to browsers"]?.push(Math.max(...(await Promise.all(shown))) - before);

    const label = `mark-${round}`;
    await chooseInTree(phone.page, "Why does it fail?", "Label…");
    await phone.page.getByRole("textbox", { name: /label/i }).fill(label);
    const labelled = Date.now();
    await phone.page.getByRole("button", { name: "Save", exact: true }).click();
    figures.label?.push((await whenShown(tablet.page, label)) - labelled);

    const branch = `Another way ${round}.`;
    await chooseInTree(tablet.page, "Why does it fail?", /^Branch from here/);
    const branched = await write(tablet.page, branch);
    figures.branch?.push((await whenShown(phone.page, branch)) - branched);
  }
  // Cursors: the tablet's stands on what it wrote last, and goes with its tab.
  const last = `Another way ${rounds - 1}.`;
  await markOf(phone.page, last, "tablet").waitFor();
  await phone.page.getByRole("button", { name: "Follow tablet" }).click();
  const followed = "Said while followed.";
  const said = await write(tablet.page, followed);
  const followMs = (await whenShown(phone.page, followed)) - said;
  const closedAt = Date.now();
  await tablet.page.close();
  await markOf(phone.page, "", "tablet").waitFor({ state: "detached" });
  const goneMs = Date.now() - closedAt;
  assertNoErrors(phone, tablet);
  return [...Object.entries(figures), ["follow", [followMs]] as const, ["cursor gone", [goneMs]] as const]
    .map(([name, all]) => `${name} ${showMs(median(all))} (most ${showMs(Math.max(...all))})`)
    .join(", ");
}

async function frozen(lab: WebLab, { frozenMs }: WebCheckOptions): Promise<string> {
  await importSmall(lab);
  const count = 100;
  const { page, profile, ...device } = await lab.joinBrowser("phone");
  // Its own place stays where it was; the tree shows what came, high enough for all of it.
  await page.setViewportSize({ width: 1280, height: 1_000 + count * 40 });
  await openSession(lab, page);
  // Stopped from outside: what a page is told of being frozen is not what a sleeping device tells it.
  const browser = await profile.browser()?.newBrowserCDPSession();
  assert.ok(browser !== undefined);
  const { processInfo } = await browser.send("SystemInfo.getProcessInfo");
  const pids = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
  assert.ok(pids.length > 0);
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  const until = Date.now() + frozenMs;
  await importSmall(lab, count);
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, until - Date.now())));
  const wokenAt = Date.now();
  for (const pid of pids) process.kill(pid, "SIGCONT");
  const completeMs = (await whenShown(page, `While you slept ${count - 1}.`)) - wokenAt;
  assert.deepEqual(device.errors, []);
  return `frozen for ${Math.round(frozenMs / 1000)} s and ${count} entries: complete after ${showMs(completeMs)}`;
}

async function offline(lab: WebLab): Promise<string> {
  await importSmall(lab);
  const laptop = lab.homeOf("laptop");
  const { page, profile } = await lab.joinBrowser("phone");
  await openSession(lab, page);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await profile.setOffline(true);
  await page.reload();
  await whenShown(page, "The clock is late.");
  await write(page, "Written without a network.");
  await whenShown(page, "Written without a network.");
  await chooseInTree(page, "Why does it fail?", /^Branch from here/);
  await write(page, "A branch without a network.");
  await whenShown(page, "A branch without a network.");
  await whenShown(page, "waiting");
  await page.close();
  await runCommandWell(["append", sessionId, "--role", "user", "Meanwhile on the laptop.", ...laptop]);
  const again = await profile.newPage();
  // The list, not the session: what was written there must get out without anybody opening it.
  await again.goto(`${lab.app}/`);
  await again.getByRole("heading", { name: "Sessions", exact: true }).waitFor();
  const seen = lab.watch("laptop", sessionId);
  await seen.waitForLine((line) => line.coppice === "watch");
  const backAt = Date.now();
  await profile.setOffline(false);
  const readLog = async (): Promise<string[]> =>
    (await runCommandWell(["log", sessionId, "--raw", ...laptop])).split("\n").filter((line) => line !== "");
  let lines = await readLog();
  for (; !["Written without", "A branch without"].every((text) => lines.some((line) => line.includes(text))); ) {
    assert.ok(Date.now() - backAt < 60_000, `not converged: ${lines.length} lines`);
    lines = await readLog();
  }
  const convergedMs = Date.now() - backAt;
  await again.goto(`${lab.app}/session/${sessionId}`);
  await whenShown(again, "Meanwhile on the laptop.");
  const ids = lines.map((line) => (JSON.parse(line) as { id: string }).id);
  assert.equal(new Set(ids).size, ids.length, "nothing twice");
  return `${lines.length} entries on both, ${showMs(convergedMs)} after the network was back`;
}

async function large(lab: WebLab, { largeEntries }: WebCheckOptions): Promise<string> {
  const path = join(lab.scratch, "large.jsonl");
  writeMadeSession(path, largeEntries);
  const imported = await runCommandJson(["import", path, ...lab.homeOf("laptop")]);
  const session = imported.files[0].session.id as string;
  const { page, errors, openTab } = await lab.joinBrowser("phone");
  await page.goto(`${lab.app}/session/${session}`);
  await page.getByRole("article").first().waitFor({ timeout: 120_000 });
  await page
    .getByText(/at the relay|up to date/i)
    .first()
    .waitFor({ timeout: 120_000 });
  await page.close();

  const warm = await openTab("/");
  await warm.getByRole("heading", { name: "Sessions", exact: true }).waitFor();
  await warm.evaluate(() => {
    const tasks: number[] = [];
    Object.assign(globalThis, { tasks });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration);
    }).observe({ type: "longtask" });
  });
  const openedAt = Date.now();
  await warm.goto(`${lab.app}/session/${session}`);
  await warm.getByRole("article").first().waitFor();
  const warmMs = Date.now() - openedAt;
  await warm.evaluate(() => {
    const tasks: number[] = [];
    Object.assign(globalThis, { tasks });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration);
    }).observe({ type: "longtask" });
  });
  for (const name of [".transcript-scroller", ".tree-scroller"]) {
    const pane = warm.locator(name).first();
    await pane.hover();
    for (let step = 0; step < 60; step++) {
      await warm.mouse.wheel(0, step % 2 === 0 ? -4_000 : 900);
      await warm.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    }
  }
  const longest = await warm.evaluate(() => Math.max(0, ...(globalThis as unknown as { tasks: number[] }).tasks));
  const cdp = await warm.context().newCDPSession(warm);
  await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  assert.deepEqual(errors, []);
  return `${largeEntries} entries: transcript ${showMs(warmMs)} after the address was opened, longest task while scrolling ${showMs(longest)}, heap ${Math.round(usedSize / 1e6)} MB`;
}

function assertNoErrors(...devices: WebDevice[]): void {
  for (const { errors } of devices) assert.deepEqual(errors, []);
}

function median(figures: readonly number[]): number {
  return [...figures].sort((one, other) => one - other)[Math.floor(figures.length / 2)] ?? 0;
}
