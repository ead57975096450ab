import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { type BrowserUnderTest, openBrowser, openPage } from "./browser.ts";
import { type RunningCommand, runCommandJson, runCommandWell, startCommand } from "./command-process.ts";

/** A browser of the workspace: a profile of its own with the app in a tab, or in several. */
export interface WebDevice {
  readonly profile: BrowserContext;
  /** The tab that joined. */
  readonly page: Page;
  /** What went wrong in any of its tabs: uncaught errors, console errors and what the page's policy has blocked. */
  readonly errors: string[];
  /** Another tab of the profile. */
  openTab(path?: string): Promise<Page>;
}

/**
 * A real relay process that serves the app, homes of the `coppice` command, and browsers. Everything is gone after
 * `close`.
 */
export class WebLab {
  readonly scratch: string = mkdtempSync(join(tmpdir(), "coppice-web-"));
  readonly #running: RunningCommand[] = [];
  readonly #profiles: BrowserContext[] = [];
  #browser: BrowserUnderTest | undefined;
  #serve: RunningCommand | undefined;
  /** `ws://127.0.0.1:PORT` */
  relay = "";

  /** Where the app is: `http://127.0.0.1:PORT`. */
  get app(): string {
    return this.relay.replace(/^ws/, "http");
  }

  /** Starts the relay, or starts it again on the same folder and port. */
  async startRelay(): Promise<void> {
    const port = this.relay === "" ? "0" : new URL(this.app).port;
    this.#serve = this.#start(["serve", "--data", join(this.scratch, "relay"), "--port", port]);
    const { url } = await this.#serve.waitForLine((line) => line.coppice === "serve");
    this.relay = url;
  }

  /** Ends the relay as a power cut does. */
  async killRelay(): Promise<void> {
    await this.#serve?.stop("SIGKILL");
  }

  /** Arguments that make a command act for a device. */
  homeOf(name: string): string[] {
    return ["--home", join(this.scratch, name)];
  }

  /** Makes the workspace on a first device of the `coppice` command, which then stays in step. */
  async makeWorkspace(name = "laptop"): Promise<void> {
    await runCommandWell(["init", this.relay, "--name", name, ...this.homeOf(name)]);
    const sync = this.#start(["sync", ...this.homeOf(name)]);
    await sync.waitForLine((line) => line.coppice === "sync");
  }

  /** The link that lets a browser join. */
  async readWebLink(name = "laptop"): Promise<string> {
    return (await runCommandJson(["link", ...this.homeOf(name)])).webLink;
  }

  /** Follows what a device of the command sees, one JSON line per entry. */
  watch(name: string, sessionId: string): RunningCommand {
    return this.#start(["watch", sessionId, ...this.homeOf(name)]);
  }

  /** A new profile, with the app open in a tab; it has no workspace yet. */
  async openProfile(url: string = this.app): Promise<WebDevice> {
    this.#browser ??= await openBrowser();
    const profile = await this.#browser.newProfile();
    this.#profiles.push(profile);
    const errors: string[] = [];
    await profile.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
        console.error(`blocked by the page's policy: ${violatedDirective} ${blockedURI}`),
      );
    });
    const open = async (address: string): Promise<Page> => {
      const tab = await openPage(profile, address);
      tab.page.on("pageerror", (error) => errors.push(String(error)));
      tab.page.on("console", (message) => void (message.type() === "error" && errors.push(message.text())));
      errors.push(...tab.errors);
      return tab.page;
    };
    return { profile, errors, page: await open(url), openTab: (path = "/") => open(`${this.app}${path}`) };
  }

  /** A browser that has joined by the link of a device of the command, as a person does it. */
  async joinBrowser(deviceName: string, from = "laptop"): Promise<WebDevice> {
    const device = await this.openProfile(await this.readWebLink(from));
    await device.page.getByLabel(/name of this (device|browser)/i).fill(deviceName);
    await device.page.getByRole("button", { name: /join/i }).click();
    await device.page.getByRole("heading", { name: "Sessions" }).waitFor();
    return device;
  }

  /** Pictures of all tabs, for whoever looks for what went wrong. */
  async takePictures(folder: string): Promise<void> {
    const pages = this.#profiles.flatMap((profile) => profile.pages());
    await Promise.all(pages.map((page, at) => page.screenshot({ path: join(folder, `tab-${at}.png`) })));
  }

  async close(): Promise<void> {
    await this.#browser?.close();
    for (const command of this.#running) await command.stop("SIGKILL");
    rmSync(this.scratch, { recursive: true, force: true });
  }

  #start(args: readonly string[]): RunningCommand {
    const command = startCommand(args);
    this.#running.push(command);
    return command;
  }
}

/** When a text stood in the page, in ms since 1970: waits for it, looking at each frame. */
export async function whenShown(page: Page, text: string): Promise<number> {
  const handle = await page.waitForFunction(
    (wanted) => (document.body.textContent.includes(wanted) ? Date.now() : 0),
    text,
    { polling: "raf" },
  );
  return (await handle.jsonValue()) as number;
}
