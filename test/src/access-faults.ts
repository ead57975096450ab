import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

declare const axe: { run(): Promise<AxeResults> };

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe has against a page that a person would run into, in both schemes, and what is wider than a small phone. */
export async function findAccessFaults(page: Page): Promise<string[]> {
  const faults: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    // Colours in between two schemes are nobody's.
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.evaluate(axeSource);
    const { violations, passes } = await page.evaluate(() => axe.run());
    if (passes.length < 5) faults.push(`${colorScheme}: axe looked at nothing`);
    for (const { impact, id, nodes } of violations)
      if (impact === "serious" || impact === "critical")
        faults.push(...nodes.map(({ target }) => `${colorScheme}: ${id} ${target}`));
  }
  await page.setViewportSize({ width: 320, height: 640 });
  const moving = await page.evaluate(findMotion);
  if (moving.length > 0) faults.push(`moves with reduced motion: ${moving}`);
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (excess > 0) faults.push(`${excess} px too wide`);
  await page.setViewportSize({ width: 1280, height: 720 });
  return faults;
}

/** What has an animation or a transition longer than 10 ms. */
function findMotion(): string[] {
  const isLong = (times: string): boolean =>
    times.split(",").some((time) => Number.parseFloat(time) * (time.trim().endsWith("ms") ? 1 : 1_000) > 10);
  const moving = [...document.querySelectorAll("*")].filter((element) => {
    const { animationName, animationDuration, transitionDuration } = getComputedStyle(element);
    return (animationName !== "none" && isLong(animationDuration)) || isLong(transitionDuration);
  });
  return [...new Set(moving.map(({ tagName, className }) => `${tagName}.${className}`))];
}
