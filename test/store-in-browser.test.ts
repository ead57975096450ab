import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { StorePage } from "./pages/store-page.ts";
import {
  type BrowserUnderTest,
  openBrowser,
  openPage,
  openProfile,
  type ServedPage,
  servePage,
} from "./src/browser.ts";
import { areBrowserTestsSkipped } from "./src/chromium.ts";

declare const page: StorePage;

function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "coppice-profile-"));
}

describe.skipIf(areBrowserTestsSkipped())("the store in Chromium", () => {
  let browser: BrowserUnderTest;
  let served: ServedPage;
  let profile: BrowserContext;
  const opened: string[] = [];
  beforeAll(async () => {
    [browser, served] = await Promise.all([
      openBrowser(),
      servePage(fileURLToPath(new URL("pages/store-page.ts", import.meta.url))),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });
  beforeEach(async () => {
    profile = await browser.newProfile();
  });
  afterEach(async () => {
    await profile.close();
    expect(opened.splice(0)).toEqual([]);
  });

  /** A tab with one log open in it. */
  async function openTab(from: BrowserContext = profile): Promise<Page> {
    const { page: tab, errors } = await openPage(from, served.url);
    await tab.evaluate(async () => {
      const store = await page.openIndexedDbStore();
      page.kept = { store, log: await store.openLog("room"), heard: [] };
      page.kept.log.onForeignAppend(() => page.kept.heard.push(page.kept.log.lastSeq()));
    });
    tab.on("close", () => opened.push(...errors));
    return tab;
  }

  const readLog = (tab: Page) => tab.evaluate(() => page.read(page.kept.log));

  it("[IX4] what was acknowledged is there after the tab's process was killed in the same moment", async () => {
    const folder = await makeFolder();
    const onDisk = await openProfile(folder);
    try {
      const { page: tab } = await openPage(onDisk, served.url);
      await tab.evaluate(async () => {
        const log = await (await page.openIndexedDbStore()).openLog("room");
        const append = async (): Promise<void> => {
          for (let byte = 0; ; byte = (byte + 1) % 256) console.log(`seq ${await log.append(new Uint8Array([byte]))}`);
        };
        void append();
      });
      const acknowledged = await new Promise<number>((resolve) => {
        tab.on("console", (message) => {
          const seq = Number(message.text().split(" ")[1]);
          if (seq >= 50) resolve(seq);
        });
      });
      const session = await onDisk.newCDPSession(tab);
      const crashed = tab.waitForEvent("crash");
      session.send("Page.crash").catch(() => undefined); // its answer dies with it
      await crashed;
      const { page: again } = await openPage(onDisk, served.url);
      const stored = await again.evaluate(async () =>
        page.read(await (await page.openIndexedDbStore()).openLog("room")),
      );
      expect(stored.length).toBeGreaterThanOrEqual(acknowledged);
      expect(stored.slice(0, acknowledged)).toEqual(stored.slice(0, acknowledged).map((_, at) => [at + 1, at % 256]));
    } finally {
      await onDisk.close();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("[IX6] without space an append is refused with `storage_full` and leaves nothing; it succeeds when there is space", async () => {
    const tab = await openTab();
    const append = (byte: number) =>
      tab.evaluate((value) => page.codeOf(page.kept.log.append(new Uint8Array([value]))), byte);
    expect(await append(1)).toBeUndefined();
    await tab.evaluate(() => page.limitSpace(true));
    expect(await append(2)).toBe("storage_full");
    expect(await readLog(tab)).toEqual([[1, 1]]);
    await tab.evaluate(() => page.limitSpace(false));
    expect(await append(3)).toBeUndefined();
    expect((await readLog(tab)).map(([, byte]) => byte)).toEqual([1, 3]);
  });

  it("[IX7] a database that the browser has closed is opened again by the next call", async () => {
    const tab = await openTab();
    expect(await tab.evaluate(() => page.codeOf(page.kept.log.append(new Uint8Array([1]))))).toBeUndefined();
    const session = await profile.newCDPSession(tab);
    // As if another program had asked for its deletion: everything that is open is closed.
    await tab.evaluate(() => page.closeAllConnections());
    expect(await tab.evaluate(() => page.codeOf(page.kept.log.append(new Uint8Array([2]))))).toBeUndefined();
    expect(await readLog(tab)).toEqual([
      [1, 1],
      [2, 2],
    ]);
    await session.send("Storage.clearDataForOrigin", { origin: served.url.slice(0, -1), storageTypes: "indexeddb" });
    expect(await tab.evaluate(() => page.codeOf(page.kept.log.append(new Uint8Array([3]))))).toBe("storage");
    // Not begun anew behind the back of who had it open; whoever opens the store finds an empty one.
    const again = await openTab();
    expect(await readLog(again)).toEqual([]);
  });

  it("[IX8] F62: where the browser has no storage, or does not open it, the store is in memory and says why", async () => {
    for (const script of [
      "Object.defineProperty(globalThis, 'indexedDB', { value: undefined })",
      "IDBFactory.prototype.open = () => { throw new DOMException('The operation is insecure.', 'SecurityError'); }",
    ]) {
      const plain = await browser.newProfile();
      await plain.addInitScript(script);
      const { page: tab, errors } = await openPage(plain, served.url);
      const found = await tab.evaluate(async () => {
        const opened = await page.openBrowserStore();
        const log = await opened.store.openLog("room");
        await log.append(new Uint8Array([7]));
        return {
          isDurable: opened.isDurable,
          code: opened.isDurable ? undefined : opened.reason.code,
          message: opened.isDurable ? "" : opened.reason.message,
          stored: await page.read(log),
          persistence: await page.requestPersistence(),
        };
      });
      expect(found).toMatchObject({ isDurable: false, code: "storage", stored: [[1, 7]] });
      expect(found.message).toMatch(/\w+ .*\.$/);
      expect(["granted", "refused", "unsupported"]).toContain(found.persistence);
      expect(errors).toEqual([]);
      await plain.close();
    }
  });

  it("[IX8] leaving a page with something at risk is asked about, and not without", async () => {
    const tab = await openTab();
    await tab.evaluate(() => {
      const risk = { is: true };
      Object.assign(globalThis, { risk });
      page.warnBeforeUnload(() => risk.is);
    });
    await tab.mouse.click(5, 5); // browsers ask only on pages that were touched
    const asked = tab.waitForEvent("dialog");
    await tab.close({ runBeforeUnload: true });
    const dialog = await asked;
    expect(dialog.type()).toBe("beforeunload");
    await dialog.dismiss();
    await tab.evaluate("risk.is = false");
    const closed = tab.waitForEvent("close");
    await tab.close({ runBeforeUnload: true });
    await closed;
  });

  it("[IX9] two tabs see each other's appends at once, and each position is given once", async () => {
    const [one, two] = [await openTab(), await openTab()];
    const appendMany = (tab: Page, byte: number) =>
      tab.evaluate(
        (value) => Promise.all(Array.from({ length: 50 }, () => page.kept.log.append(new Uint8Array([value])))),
        byte,
      );
    const [first, second] = await Promise.all([appendMany(one, 1), appendMany(two, 2)]);
    expect([...first, ...second].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, at) => at + 1));
    const stored = await readLog(one);
    expect(stored).toEqual(await readLog(two));
    expect(stored.map(([seq]) => seq)).toEqual(Array.from({ length: 100 }, (_, at) => at + 1));
    for (const tab of [one, two])
      await expect.poll(() => tab.evaluate(() => page.kept.heard.length)).toBeGreaterThan(0);
  });

  it("[IX10] a store deleted in one tab makes way at once, and another tab with it open is told instead of beginning anew", async () => {
    const [one, two] = [await openTab(), await openTab()];
    await one.evaluate(() => page.kept.log.append(new Uint8Array([1])));
    await two.evaluate(async () => {
      await page.kept.store.close();
      await page.deleteIndexedDbStore();
    });
    expect(await one.evaluate(() => page.codeOf(page.kept.log.append(new Uint8Array([2]))))).toBe("storage");
    expect(await readLog(await openTab())).toEqual([]);
  });

  it("[IX1] each log is a database of its own with y-indexeddb's tables, and one more holds the rest", async () => {
    const tab = await openTab();
    const found = await tab.evaluate(async () => {
      await page.kept.log.append(new Uint8Array([1]));
      const names = (await indexedDB.databases()).map(({ name }) => name).sort();
      const database = await new Promise<IDBDatabase>((resolve) => {
        const request = indexedDB.open("coppice/room");
        request.onsuccess = () => resolve(request.result);
      });
      const tables = [...database.objectStoreNames];
      database.close();
      return { names, tables };
    });
    expect(found).toEqual({ names: ["coppice", "coppice/room"], tables: ["custom", "updates"] });
  });

  it("[IX2] stock y-indexeddb opens the database of a log, and finds the entries that a workspace has written", async () => {
    const tab = await openTab();
    const found = await tab.evaluate(async () => {
      const workspace = await page.openWorkspace({
        store: page.kept.store,
        device: { id: "device-1", name: "browser" },
        workspaceKey: new Uint8Array(32).fill(7),
      });
      const shared = await workspace.createSession({ cwd: "/" });
      for (const text of ["one", "two", "three"])
        await shared.session.appendMessage({ role: "user", content: text, timestamp: 1 });
      const { roomId } = shared;
      await workspace.close();
      const { doc, stop } = await page.openStock(`coppice/${roomId}`);
      const records = doc.getArray<Uint8Array>("entries").toArray().map(String);
      doc.getArray("entries").push([new Uint8Array([1, 2, 3])]);
      await stop();
      const own = new page.Y.Doc();
      const log = await page.kept.store.openLog(roomId);
      for await (const { update } of log.read()) page.Y.applyUpdate(own, update);
      return { records, own: own.getArray<Uint8Array>("entries").toArray().map(String) };
    });
    expect(found.records.length).toBe(4);
    expect(found.own).toEqual([...found.records, "1,2,3"]);
  });

  it("[IX2] what stock y-indexeddb has written is read, also after it has trimmed its updates to one", async () => {
    const tab = await openTab();
    const found = await tab.evaluate(async () => {
      const { doc, stop } = await page.openStock("coppice/theirs");
      for (let at = 0; at < 600; at++) doc.getArray("entries").push([new Uint8Array([at % 256])]);
      await page.storeState(doc);
      doc.getArray("entries").push([new Uint8Array([250])]);
      await stop();
      const own = new page.Y.Doc();
      const log = await page.kept.store.openLog("theirs");
      const seqs: number[] = [];
      for await (const { seq, update } of log.read()) {
        seqs.push(seq);
        page.Y.applyUpdate(own, update);
      }
      const next = await log.append(new Uint8Array([0, 0]));
      return { length: own.getArray("entries").length, seqs, next };
    });
    expect(found.length).toBe(601);
    expect(found.seqs.length).toBeLessThan(600);
    expect(found.next).toBe((found.seqs.at(-1) ?? 0) + 1);
  });
});
