import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { formatWebLink } from "@coppice/client";
import { createAppHandler } from "@coppice/web/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BrowserUnderTest, openBrowser, openPage } from "./src/browser.ts";
import { areBrowserTestsSkipped } from "./src/chromium.ts";

describe.skipIf(areBrowserTestsSkipped())("a new version of the app", () => {
  let browser: BrowserUnderTest;
  let server: Server;
  /** Stands in for another build: a worker with other bytes, which keeps its files under another name. */
  let isNewer = false;
  /** Stands in for a server that has another build by now. */
  let isPartGone = false;
  beforeAll(async () => {
    browser = await openBrowser();
    const handler = createAppHandler();
    const readWorker = async (): Promise<string> => {
      const { port } = server.address() as AddressInfo;
      return (await fetch(`http://127.0.0.1:${port}/sw.js?as-built`)).text();
    };
    server = createServer((request, response) => {
      if (isPartGone && /^\/assets\/session-page.*js$/.test(request.url ?? "")) {
        response.writeHead(404).end();
        return;
      }
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

  it("[WB21] of which a part is gone says so in the place of that page, and goes on", async () => {
    isPartGone = true;
    const { port } = server.address() as AddressInfo;
    const origin = `http://127.0.0.1:${port}`;
    const link = formatWebLink({ workspaceKey: new Uint8Array(32).fill(7) }, origin);
    const { page } = await openPage(await browser.newProfile(), link);
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByRole("button", { name: "Saved here · no relay" }).waitFor();
    await page.getByRole("button", { name: "New session" }).click();
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "This page cannot be shown" }).waitFor();
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByRole("link", { name: /^Session \w{8}/ }).waitFor();
  });
});
