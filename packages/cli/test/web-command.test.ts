import { parsePairingLink } from "@coppice/client";
import { beforeAll, describe, expect, it } from "vitest";
import { makeDevice, requireFreshBuild, startRelay } from "./support/run-coppice.ts";

beforeAll(requireFreshBuild);

describe("the app for browsers", () => {
  it("[AP5, CP13, CP56] is served beside the relay, where the link for a browser leads; init takes that link too", async () => {
    const relay = await startRelay();
    const laptop = await makeDevice("laptop", relay.url);
    const { link, webLink } = await laptop.runJson(["link"]);
    expect((await laptop.run(["link", "--web"])).stdout).toBe(`${webLink}\n`);
    expect((await laptop.run(["link"])).stdout).toBe(`${link}\n`);
    expect(parsePairingLink(webLink)).toEqual(parsePairingLink(link));
    const page = await fetch(webLink);
    expect(await page.text()).toContain("<title>Coppice</title>");
    const desktop = await makeDevice("desktop", webLink);
    expect((await desktop.run(["status"])).stdout).toContain(`relay    ${relay.url}  online\n`);
  });

  it("[AP5, CP56] is served by web from this device, whose page may connect to the relay, until SIGTERM", async () => {
    const relay = await startRelay();
    const laptop = await makeDevice("laptop", relay.url);
    const web = laptop.follow(["web", "--port", "0"]);
    const said = await web.waitFor(({ coppice }) => coppice === "web");
    expect(said).toEqual({
      coppice: "web",
      version: 1,
      url: `http://127.0.0.1:${said.port}`,
      port: said.port,
      link: expect.any(String),
    });
    expect(said.link.startsWith(`${said.url}/#coppice=3.`)).toBe(true);
    expect(parsePairingLink(said.link).relay).toBe(relay.url);
    const page = await fetch(said.url);
    expect(page.headers.get("content-security-policy")).toContain(` ${relay.url};`);
    expect(await web.stop()).toMatchObject({
      code: 0,
      stderr: "the link holds the workspace's key: treat it as a password\n",
    });
  });

  it("[AP5] needs a relay: a browser could reach nobody else", async () => {
    const alone = await makeDevice("alone");
    expect(await alone.run(["web", "--port", "0"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("This workspace has no relay yet"),
    });
  });
});
