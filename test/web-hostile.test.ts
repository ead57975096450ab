import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findAccessFaults } from "./src/access-faults.ts";
import { areBrowserTestsSkipped } from "./src/chromium.ts";
import { runCommandWell } from "./src/command-process.ts";
import { hostileEnd, hostileFlag, hostileName, writeHostileSession } from "./src/hostile-session.ts";
import { type WebDevice, WebLab } from "./src/web-lab.ts";

/** A page that answers a press later than this has been brought to a stop. */
const answerMs = 20_000;

describe.skipIf(areBrowserTestsSkipped())("a hostile session in Chromium", () => {
  const lab = new WebLab();
  let device: WebDevice;
  const left: string[] = [];

  beforeAll(async () => {
    await lab.startRelay();
    await lab.makeWorkspace();
    const file = join(lab.scratch, "hostile.jsonl");
    writeHostileSession(file);
    await runCommandWell(["import", file, ...lab.homeOf("laptop")]);
    device = await lab.joinBrowser(hostileName);
    const { page, profile } = device;
    profile.on("request", (request) => {
      if (!request.url().startsWith(`${lab.app}/`) && !/^(data|blob):/.test(request.url())) left.push(request.url());
    });
    page.on("websocket", (socket) => void (socket.url().startsWith(lab.relay) || left.push(socket.url())));
    page.on("dialog", (dialog) => void left.push(`dialog: ${dialog.message()}`));
    profile.on("page", (other) => left.push(`window: ${other.url()}`));
    await page.addInitScript(() => {
      const tasks: number[] = [];
      Object.assign(globalThis, { tasks });
      new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({
        entryTypes: ["longtask"],
      });
    });
    await page.reload();
  });
  afterAll(() => lab.close());

  it("[WB44] nothing of it runs, leaves the page or stops it, whatever is looked at and opened", async () => {
    const { page, errors } = device;
    await page.getByRole("link", { name: /exe\.txt/ }).click();
    await page.getByText(hostileEnd).last().waitFor();
    const faults: string[] = [];
    const kinds = new Set<string>();
    const seen = new Set<number>();
    // From the end to the top by the page, each item as it comes, all that is folded opened.
    for (let isAtTop = false; !isAtTop; ) {
      await settle(page);
      for (const kind of await page.evaluate(openFolds)) kinds.add(kind);
      await settle(page);
      for (const index of await page.evaluate(listSeen)) seen.add(index);
      faults.push(...(await page.evaluate(findFaults, hostileFlag)));
      isAtTop = await page.evaluate(scrollUp);
    }
    expect([...kinds]).toEqual(
      expect.arrayContaining(["user", "assistant", "unknown", "compaction", "branch-summary", "bash"]),
    );
    await page.setViewportSize({ width: 900, height: 720 });
    for (const pane of ["Tree", "Log"]) {
      await page.getByRole("button", { name: pane, exact: true }).click({ timeout: answerMs });
      await page
        .getByRole(pane === "Tree" ? "treeitem" : "listitem")
        .first()
        .waitFor();
      faults.push(...(await page.evaluate(findFaults, hostileFlag)));
    }
    await page.getByRole("link", { name: "Devices" }).click({ timeout: answerMs });
    await page.getByRole("heading", { name: "Devices", exact: true }).waitFor();
    faults.push(...(await page.evaluate(findFaults, hostileFlag)));
    await page.getByRole("link", { name: "Sessions" }).click({ timeout: answerMs });
    await page.getByRole("heading", { name: "Sessions" }).waitFor();
    faults.push(...(await page.evaluate(findFaults, hostileFlag)));
    expect(seen.size).toBe(Math.max(...seen) + 1);
    const tasks = await page.evaluate(() => (globalThis as unknown as { tasks: number[] }).tasks);
    expect(Math.max(0, ...tasks)).toBeLessThan(answerMs);
    expect([...new Set(faults)]).toEqual([]);
    expect(errors).toEqual([]);
    expect(left).toEqual([]);
    expect(page.url()).toBe(`${lab.app}/`);
  });

  it("[WB45] it is no wider than a small phone and axe finds nothing serious in it", async () => {
    const { page, errors } = device;
    expect(await findAccessFaults(page)).toEqual([]);
    await page.getByRole("link", { name: /exe\.txt/ }).click();
    await page.getByText(hostileEnd).last().waitFor();
    expect(await findAccessFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 320, height: 640 });
    for (let isAtTop = false; !isAtTop; ) {
      await settle(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      isAtTop = await page.evaluate(scrollUp);
    }
    expect(errors).toEqual([]);
  });
});

/** Two frames: what was asked of the page has been drawn. */
async function settle(page: Page): Promise<void> {
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)))),
  );
  await page.waitForFunction(() => document.querySelector(".item-loading") === null);
}

/** Opens all that is folded in what is on the screen, and what there is more of; the kinds of its items. */
function openFolds(): string[] {
  for (const fold of document.querySelectorAll<HTMLElement>(".transcript [aria-expanded=false].fold-summary"))
    fold.click();
  return [...document.querySelectorAll(".item")].map(({ className }) => className.replace(/^item item-/, ""));
}

/** Which items of the transcript there are in the page. */
function listSeen(): number[] {
  return [...document.querySelectorAll<HTMLElement>(".transcript-place")].map(({ dataset }) => Number(dataset.index));
}

/** Goes up by less than a screen; whether it was at the top. */
function scrollUp(): boolean {
  const scroller = document.querySelector(".transcript-scroller");
  if (scroller === null) throw new Error("there is no transcript");
  const before = scroller.scrollTop;
  scroller.scrollTop -= scroller.clientHeight * 0.8;
  return before === 0;
}

/** What a page must not have in it, whatever it shows. */
function findFaults(flag: string): string[] {
  const faults: string[] = [];
  if (flag in globalThis) faults.push("a script has run");
  for (const element of document.querySelectorAll("body *")) {
    for (const { name, value } of element.attributes)
      if (/^on/i.test(name) || name === "srcdoc" || (name === "style" && /url\(|expression/i.test(value)))
        faults.push(`<${element.tagName} ${name}="${value}">`);
    if (/^(script|iframe|object|embed|base|meta|link|style)$/i.test(element.tagName))
      faults.push(`<${element.tagName}>`);
    if (element instanceof HTMLAnchorElement && element.hasAttribute("href")) {
      if (!["http:", "https:", "mailto:"].includes(element.protocol)) faults.push(`a link to ${element.href}`);
      if (element.origin !== location.origin && !/noopener|noreferrer/.test(element.rel))
        faults.push(`a link with an opener`);
    }
    if (element instanceof HTMLImageElement && !/^data:image\/(png|jpeg|gif|webp|avif);/.test(element.src))
      faults.push(`a picture ${element.src}`);
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const text = node.nodeValue ?? "";
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    const found = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u2060\u202a-\u202e\u2066-\u2069\ufeff]/.exec(text);
    if (found !== null)
      faults.push(
        `U+${found[0].charCodeAt(0).toString(16)} in ${node.parentElement?.tagName}.${node.parentElement?.className}`,
      );
  }
  return faults;
}
