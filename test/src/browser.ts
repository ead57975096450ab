import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type LaunchOptions, type Page } from "playwright-core";
import { build, type Rolldown } from "vite";
import { chromiumArguments, requireChromium } from "./chromium.ts";

/** One Chromium process. */
export interface BrowserUnderTest {
  /** Opens a profile: pages share storage, service workers and channels with pages of the same profile alone. Kept in memory. */
  newProfile(): Promise<BrowserContext>;
  /** Ends the process and removes what it left. */
  close(): Promise<void>;
}

/** Starts Chromium; one per test file is enough. Throws when there is none (`areBrowserTestsSkipped`). */
export async function openBrowser(): Promise<BrowserUnderTest> {
  const home = await mkdtemp(join(tmpdir(), "coppice-browser-"));
  const browser: Browser = await chromium.launch(launchOptions(home));
  return {
    newProfile: () => browser.newContext(),
    close: async () => {
      await browser.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/**
 * Opens a profile that lies on disk, in a Chromium process of its own: what it stores survives `close` and a kill and is
 * there when the folder is opened again. The folder is the caller's to remove.
 */
export async function openProfile(folder: string): Promise<BrowserContext> {
  return chromium.launchPersistentContext(join(folder, "profile"), launchOptions(folder));
}

/** HOME too is one of its own, for what Chromium keeps beside its profile. */
function launchOptions(home: string): LaunchOptions {
  return {
    executablePath: requireChromium(),
    args: [...chromiumArguments],
    chromiumSandbox: false,
    env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home },
  };
}

/** A tab, and what went wrong in it: uncaught errors, and what was written to the console as an error. */
export interface OpenTab {
  readonly page: Page;
  readonly errors: string[];
}

/** Opens an address in a new tab of the profile and waits until its scripts have run. */
export async function openPage(profile: BrowserContext, url: string): Promise<OpenTab> {
  const page = await profile.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => void (message.type() === "error" && errors.push(message.text())));
  await page.goto(url);
  return { page, errors };
}

/** A page at an address of its own. */
export interface ServedPage {
  /** `http://127.0.0.1:PORT/`, which browsers take for a secure context. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Bundles a module with all that it imports, from the sources, as an app would be, and serves a page that loads it. The
 * module puts what tests call on `globalThis`.
 */
export async function servePage(modulePath: string): Promise<ServedPage> {
  const script = await bundle(modulePath);
  const html = `<!doctype html><meta charset="utf-8"><title>test</title><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>`;
  const server = createServer((request, response) => {
    const [type, body] = request.url === "/page.js" ? ["text/javascript", script] : ["text/html", html];
    response.writeHead(200, { "content-type": `${type}; charset=utf-8`, "cache-control": "no-store" }).end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function bundle(modulePath: string): Promise<string> {
  const output = (await build({
    configFile: false,
    logLevel: "error",
    resolve: { conditions: ["coppice-source", "module", "browser", "development|production"] },
    build: {
      write: false,
      minify: false,
      target: "es2023",
      rolldownOptions: {
        input: modulePath,
        preserveEntrySignatures: false,
        output: { format: "es", codeSplitting: false, entryFileNames: "page.js" },
      },
    },
  })) as Rolldown.RolldownOutput;
  const [chunk, ...others] = output.output;
  if (others.length > 0) throw new Error(`the page is more than one file: ${others.map(({ fileName }) => fileName)}`);
  return chunk.code;
}
