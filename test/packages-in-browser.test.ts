import { fileURLToPath } from "node:url";
import type { BrowserContext } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PackagesPage } from "./pages/packages-page.ts";
import { type BrowserUnderTest, openBrowser, openPage, type ServedPage, servePage } from "./src/browser.ts";
import { areBrowserTestsSkipped } from "./src/chromium.ts";

declare const page: PackagesPage;

describe.skipIf(areBrowserTestsSkipped())("the packages in a page", () => {
  let browser: BrowserUnderTest;
  let served: ServedPage;
  let profile: BrowserContext;
  beforeAll(async () => {
    browser = await openBrowser();
    served = await servePage(fileURLToPath(new URL("pages/packages-page.ts", import.meta.url)));
    profile = await browser.newProfile();
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  it("[PK10] bundled by Vite, they load in Chromium without an error, and sealed entries are written and read there", async () => {
    const { page: tab, errors } = await openPage(profile, served.url);
    expect(await tab.evaluate(() => page.loaded)).toEqual(["function", "function", "function", "object"]);
    const messages = await tab.evaluate((text) => page.writeAndRead(text), "hello 🌱");
    expect(messages).toMatchObject([{ role: "user", content: "hello 🌱" }]);
    expect(errors).toEqual([]);
  });
});
