import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findAccessFaults } from "./src/access-faults.ts";
import { areBrowserTestsSkipped } from "./src/chromium.ts";
import { runCommandWell } from "./src/command-process.ts";
import { WebLab } from "./src/web-lab.ts";

const session = "Fix the flaky login test";

describe.skipIf(areBrowserTestsSkipped())("a session for everybody", () => {
  const lab = new WebLab();
  beforeAll(async () => {
    await lab.startRelay();
    await lab.makeWorkspace();
    await runCommandWell(["import", "examples/two-devices/flaky-login-test.jsonl", ...lab.homeOf("laptop")]);
  });
  afterAll(() => lab.close());

  it("[WB45] axe finds nothing serious in a session's views, a menu and a dialog, and nothing scrolls sideways or moves", async () => {
    const { page, errors } = await lab.joinBrowser("phone");
    await page.getByRole("link", { name: session }).click();
    await page.locator(".item").first().waitFor();
    await page.getByRole("treeitem").first().waitFor();
    expect(await findAccessFaults(page)).toEqual([]);
    const views = page.getByRole("navigation", { name: "Views of the session" });
    // One at a time, as on a tablet; on a wide screen the tree needs no choosing.
    await page.setViewportSize({ width: 900, height: 720 });
    for (const view of ["Tree", "Log"]) {
      await views.getByRole("button", { name: view }).click();
      await page
        .getByRole(view === "Log" ? "list" : "tree", { name: view === "Log" ? "Log" : "Session tree" })
        .waitFor();
      expect(await findAccessFaults(page)).toEqual([]);
    }
    await page.getByRole("button", { name: "What to do with this session" }).click();
    await page.getByRole("menu").waitFor();
    expect(await findAccessFaults(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "What to do with this session" }).click();
    await page.getByRole("menuitem", { name: /^Rename/ }).click();
    await page.getByRole("dialog").waitFor();
    expect(await findAccessFaults(page)).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("[WB46] one can join, move, label, branch, write, read the log, rename and archive by the keyboard alone", async () => {
    const { page, errors } = await lab.openProfile(await lab.readWebLink());
    await page.getByRole("heading", { name: "Join this workspace" }).waitFor();
    const press = (...keys: string[]) => pressKeys(page, keys);
    await tabTo(page, "Name of this device");
    await press("Control+A");
    await page.keyboard.type("keys alone");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: session }).waitFor();

    await tabTo(page, session);
    await page.keyboard.press("Enter");
    await page.getByRole("treeitem").first().waitFor();
    await tabTo(page, "treeitem");
    await press("Home", "ArrowDown", "ArrowUp", "ArrowDown", "ArrowDown");
    await choose(page, "Label…");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("by key");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("treeitem").getByText("by key").waitFor();
    await expectFocus(page);

    await choose(page, "Branch from here");
    await page.getByRole("button", { name: "Continue on this branch" }).waitFor({ state: "detached" });
    await expectFocus(page);
    await tabTo(page, "textarea");
    await page.keyboard.type("Written by keys alone");
    await page.keyboard.press("Control+Enter");
    await page.locator(".item").getByText("Written by keys alone").waitFor();
    await expectFocus(page);

    await tabTo(page, "Log", "Shift+Tab");
    await press("Enter");
    await page.getByRole("list", { name: "Log" }).waitFor();
    await tabTo(page, "log-line");
    await press("ArrowUp", "ArrowUp", "End");

    await tabTo(page, "Sessions", "Shift+Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Sessions" }).waitFor();
    await tabTo(page, `Rename ${session}`);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo(page, "Name");
    await press("Control+A");
    await page.keyboard.type("Renamed by key");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: /Renamed by key/ }).waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expectFocus(page);
    await tabTo(page, "Archive Renamed by key");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: /Renamed by key/ }).waitFor({ state: "detached" });
    await expectFocus(page);
    expect(errors).toEqual([]);
  });
});

/** Opens the menu of the row that has the focus and chooses, as the keyboard does. */
async function choose(page: Page, name: string): Promise<void> {
  await page.keyboard.press("ContextMenu");
  await page.getByRole("menu").waitFor();
  for (let steps = 0; !(await expectFocus(page)).includes(name); steps++) {
    if (steps > 12) throw new Error(`the menu has no ${name}`);
    await page.keyboard.press("ArrowDown");
  }
  await page.keyboard.press("Enter");
}

async function pressKeys(page: Page, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    await page.keyboard.press(key);
    await expectFocus(page);
  }
}

/** Tabs until what has the focus has this name, role or class; each stop on the way must be in sight. */
async function tabTo(page: Page, wanted: string, key = "Tab"): Promise<void> {
  const seen: string[] = [];
  for (let steps = 0; steps < 60; steps++) {
    const names = await expectFocus(page, true);
    if (names.includes(wanted)) return;
    seen.push(names.join("|"));
    await page.keyboard.press(key);
  }
  throw new Error(`${key} does not lead to ${wanted}: ${seen.join(" → ")}`);
}

/** The names of what has the focus: its label, role, tag and classes. Throws when nothing has it or nobody could see it. */
async function expectFocus(page: Page, mayBeNowhere = false): Promise<string[]> {
  // Focus that follows what is drawn comes with the frame after it.
  const found = await page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const element = document.activeElement;
    if (!(element instanceof HTMLElement) || element === document.body) return undefined;
    const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
    const { outlineStyle, boxShadow, visibility } = getComputedStyle(element);
    const isInSight = width > 0 && height > 0 && right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
    // A page that was gone to is where reading begins, and no control.
    const isMarked = element.id === "main" || outlineStyle !== "none" || boxShadow !== "none";
    const labels = "labels" in element ? [...((element.labels as NodeListOf<HTMLElement> | null) ?? [])] : [];
    const names = [
      element.getAttribute("aria-label"),
      ...labels.map(({ textContent }) => textContent),
      element.querySelector(".session-title")?.textContent,
      element.querySelector("span")?.textContent,
      element.textContent,
      element.getAttribute("role"),
      element.tagName.toLowerCase(),
      ...element.classList,
    ];
    return {
      names: names.flatMap((name) => name?.trim() || []),
      isVisible: isInSight && isMarked && visibility === "visible",
    };
  });
  if (found === undefined) {
    if (mayBeNowhere) return [];
    throw new Error("nothing has the focus");
  }
  if (!found.isVisible) throw new Error(`nobody can see that this has the focus: ${found.names.join("|")}`);
  return found.names;
}
