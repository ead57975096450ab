import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAppHandler } from "@coppice/web/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BrowserUnderTest, openBrowser, openPage } from "./src/browser.ts";
import { areBrowserTestsSkipped } from "./src/chromium.ts";

describe.skipIf(areBrowserTestsSkipped())("a new version of the app", () => {
  let browser: BrowserUnderTest;
  let server: Server;
  /** Stands in for another build: a worker with other bytes, which keeps its files under another name. */
  let isNewer = false;
  beforeAll(async () => {
    browser = await openBrowser();
    const handler = createAppHandler();
    const readWorker = async (): Promise<string> => {
      const { port } = server.address() as AddressInfo;
      return (await fetch(`http://127.0.0.1:${port}/sw.js?as-built`)).text();
    };
    server = createServer((request, response) => {
      if (request.url !== "/sw.js" || !isNewer) return handler(request, response);
      void readWorker().then((text) => {
        response.writeHead(200, { "content-type": "text/javascript", "cache-control": "no-cache" });
        response.end(text.replace(/const version = "/, 'const version = "newer-'));
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterAll(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
  });

  it("[WB17] is fetched beside the one that runs, announced, and takes over when somebody says so", async () => {
    const { port } = server.address() as AddressInfo;
    const profile = await browser.newProfile();
    const { page, errors } = await openPage(profile, `http://127.0.0.1:${port}/`);
    await page.evaluate(async () => {
      await navigator.serviceWorker.ready;
    });
    const [first] = await page.evaluate(() => caches.keys());
    isNewer = true;
    await page.evaluate(async () => {
      await (await navigator.serviceWorker.ready).update();
    });
    await page.getByText("A new version is ready.").waitFor();
    expect(await page.evaluate(() => caches.keys())).toHaveLength(2);
    await Promise.all([page.waitForEvent("load"), page.getByRole("button", { name: "Reload" }).click()]);
    await page.getByRole("heading", { name: "Coppice" }).waitFor();
    expect(await page.evaluate(() => caches.keys())).toEqual([String(first).replace("app-", "app-newer-")]);
    expect(errors).toEqual([]);
  });
});
