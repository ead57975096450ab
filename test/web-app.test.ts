import type { BrowserContext } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { areBrowserTestsSkipped } from "./src/chromium.ts";
import { runCommandJson, runCommandWell } from "./src/command-process.ts";
import { WebLab, whenShown } from "./src/web-lab.ts";

describe.skipIf(areBrowserTestsSkipped())("the app in Chromium", () => {
  const lab = new WebLab();
  beforeAll(async () => {
    await lab.startRelay();
    await lab.makeWorkspace();
    await runCommandWell(["import", "examples/two-devices/flaky-login-test.jsonl", ...lab.homeOf("laptop")]);
  });
  afterAll(() => lab.close());

  it("[WB1] joins by a link, keeps the key out of the address and of every request, and is there again after a reload", async () => {
    const link = await lab.readWebLink();
    const { page, errors, profile } = await lab.openProfile(link);
    const key = new URL(link).hash.split(".")[1] ?? "";
    const sent: string[] = [];
    profile.on("request", (request) =>
      sent.push(request.url(), request.postData() ?? "", JSON.stringify(request.headers())),
    );
    page.on("websocket", (socket) => sent.push(socket.url()));
    expect(await page.getByLabel("Name of this device").inputValue()).toBe("Chrome on Linux");
    await page.getByLabel("Name of this device").fill("kitchen");
    await page.getByLabel("Your name (optional)").fill("Ada");
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByRole("link", { name: /Fix the flaky login test/ }).waitFor();
    expect(page.url()).toBe(`${lab.app}/`);
    await page.reload();
    await page.getByRole("link", { name: /Fix the flaky login test/ }).waitFor();
    await page.getByRole("button", { name: "Saved here · at the relay" }).waitFor();
    expect(sent.length).toBeGreaterThan(2);
    expect(sent.filter((text) => text.includes(key))).toEqual([]);
    expect(errors).toEqual([]);
    const { devices } = await runCommandJson(["devices", ...lab.homeOf("laptop")]);
    expect(devices).toContainEqual(expect.objectContaining({ name: "kitchen", person: "Ada" }));
  });

  it("[WB2] without a workspace it says how to get a link, and says what is wrong with a damaged one", async () => {
    const { page, errors } = await lab.openProfile();
    await page.getByText("npx coppice link").waitFor();
    const link = await lab.readWebLink();
    await page.getByLabel("Pairing link").fill(link.slice(0, -1));
    await page.getByRole("button", { name: "Open the link" }).click();
    await page.getByRole("alert").getByText("This pairing link is incomplete or damaged").waitFor();
    await page.getByLabel("Pairing link").fill(link);
    await page.getByRole("button", { name: "Open the link" }).click();
    await page.getByRole("heading", { name: "Join this workspace" }).waitFor();
    await page.getByRole("button", { name: "Not now" }).click();
    await page.getByText("npx coppice link").waitFor();
    expect(errors).toEqual([]);
  });

  it("[WB3] asks before it joins another workspace, keeps both apart, and switches", async () => {
    const { page, errors } = await lab.joinBrowser("two-in-one");
    await runCommandWell(["init", lab.relay, "--name", "elsewhere", ...lab.homeOf("elsewhere")]);
    await page.goto(await lab.readWebLink("elsewhere"));
    await page.getByRole("heading", { name: "Join another workspace" }).waitFor();
    await page.getByRole("button", { name: "Stay where I am" }).click();
    await page.getByRole("link", { name: /Fix the flaky login test/ }).waitFor();
    await page.goto(await lab.readWebLink("elsewhere"));
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByText("There is no session yet.").waitFor();
    await page.getByRole("link", { name: "Devices" }).click();
    await page.getByText("as two-in-one").waitFor();
    await page.getByRole("button", { name: "Switch" }).click();
    await page.getByText("laptop").waitFor();
    await page.goto(await lab.readWebLink("elsewhere"));
    await page.getByText("There is no session yet.").waitFor();
    expect(errors).toEqual([]);
  });

  it("[WB4] [WB5] shows the link after a press, renames this device, and leaves after a confirmation", async () => {
    const { page, errors } = await lab.joinBrowser("passing by");
    await page.getByRole("link", { name: "Devices" }).click();
    expect(await page.content()).not.toContain("#coppice=");
    await page.getByRole("button", { name: "Show the link" }).click();
    await page.getByRole("img", { name: "The link for a browser, to be scanned" }).waitFor();
    expect(await page.getByText(/^http.*#coppice=2/).textContent()).toBe(await lab.readWebLink());
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByLabel("Name of this device").fill("hotel");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("hotel").waitFor();
    await page.getByRole("button", { name: "Leave…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Leave" }).click();
    await page.getByText("npx coppice link").waitFor();
    const left = await page.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name));
    expect(left).toEqual(["coppice-home"]);
    expect(errors).toEqual([]);
  });

  it("[WB6] [WB7] makes, renames and archives sessions, which another browser sees", async () => {
    const here = await lab.joinBrowser("here");
    const there = await lab.joinBrowser("there");
    await here.page.getByRole("button", { name: "New session" }).click();
    await here.page.getByLabel("Name (optional)").fill("Draft");
    await here.page.getByRole("button", { name: "Create" }).click();
    await here.page.waitForURL(/\/session\//);
    await here.page.getByRole("link", { name: "Sessions" }).click();
    await there.page.getByRole("button", { name: "Rename Draft" }).waitFor();
    await here.page.getByRole("button", { name: "Rename Draft" }).click();
    await here.page.getByLabel("Name", { exact: true }).fill("Plan");
    await here.page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
    await whenShown(there.page, "Plan");
    await there.page.getByRole("button", { name: "Archive Plan" }).click();
    await here.page.getByRole("link", { name: /Plan/ }).waitFor({ state: "detached" });
    await here.page.getByRole("button", { name: "Archived" }).click();
    await here.page.getByRole("link", { name: /Plan/ }).waitFor();
    await here.page.getByLabel("Search sessions").fill("nothing of the kind");
    await here.page.getByText("No session has all of these words.").waitFor();
    expect([...here.errors, ...there.errors]).toEqual([]);
  });

  it("[WB16] opens without a network after the first visit, at each of its addresses", async () => {
    const { page, profile } = await lab.joinBrowser("train");
    await whenKept(profile);
    await profile.setOffline(true);
    for (const path of ["/devices", "/"]) {
      await page.goto(lab.app + path);
      await page.getByRole("button", { name: "Saved here · offline" }).waitFor();
    }
    await page.getByRole("link", { name: /Fix the flaky login test/ }).waitFor();
    const kept = await page.evaluate(async () => {
      const names = await caches.keys();
      const requests = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
      return requests.flat().map(({ url }) => new URL(url).pathname);
    });
    expect(kept.filter((path) => !/^\/(assets\/[\w.-]+|[\w.-]*)$/.test(path))).toEqual([]);
  });

  it("[WB9] sends what an earlier tab wrote offline, whichever page the next one shows", async () => {
    const device = await lab.joinBrowser("bus");
    const { page, profile } = device;
    await whenKept(profile);
    await profile.setOffline(true);
    await page.getByRole("button", { name: "New session" }).click();
    await page.getByLabel("Name (optional)").fill("Written on the bus");
    await page.getByRole("button", { name: "Create" }).click();
    await page.waitForURL(/\/session\//);
    const sessionId = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    await page.getByRole("button", { name: /Saved here · offline · \d+ waiting/ }).waitFor();
    const next = await profile.newPage();
    await page.close();
    await profile.setOffline(false);
    await next.goto(lab.app);
    await next.waitForFunction(hasNoMarks);
    const log = await runCommandWell(["log", sessionId, "--json", ...lab.homeOf("laptop")]);
    expect(log).toContain("Written on the bus");
  });

  it("[WB11] [WB12] says that nothing is kept where the browser has no storage, and asks before something is lost", async () => {
    const device = await lab.openProfile();
    await device.profile.addInitScript(() => {
      Object.defineProperty(globalThis, "indexedDB", { get: () => undefined });
    });
    const page = await device.profile.newPage();
    await page.goto(await lab.readWebLink());
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByRole("button", { name: "Not saved here · at the relay" }).waitFor();
    await page.locator("p.status-reason", { hasText: "This browser keeps nothing" }).waitFor();
    await page.getByRole("status").getByText("Not saved here, at the relay").waitFor({ state: "attached" });
    await device.profile.setOffline(true);
    await page.getByRole("button", { name: "New session" }).click();
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("button", { name: /Not saved here · .* waiting/ }).waitFor();
    const asked = new Promise<string>((resolve) => {
      page.on("dialog", (dialog) => {
        resolve(dialog.type());
        void dialog.accept();
      });
    });
    await page.close({ runBeforeUnload: true });
    expect(await asked).toBe("beforeunload");
  });
});

/** Settles when the worker has all files of the app and answers for this profile. */
async function whenKept(profile: BrowserContext): Promise<void> {
  const [page] = profile.pages();
  await page?.evaluate(async () => {
    await navigator.serviceWorker.ready;
  });
}

/** In a page: whether no session is marked as one that may have unsent entries. */
function hasNoMarks(): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("coppice-home");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const counting = opening.result.transaction("marks").objectStore("marks").count();
      counting.onsuccess = () => {
        opening.result.close();
        resolve(counting.result === 0);
      };
    };
  });
}
