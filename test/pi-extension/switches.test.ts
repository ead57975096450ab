import { readdir, rm } from "node:fs/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runCommandJson, runCommandWell } from "../src/command-process.ts";
import type { PiHome } from "../src/pi-home.ts";
import { type PiProcess, type PiRecord, runPiPrint } from "../src/pi-process.ts";
import { describePi } from "./describe-pi.ts";
import {
  coppiceExtension,
  isLive,
  readEntries,
  readPiFile,
  type SharedPis,
  startSharedPis,
  waitForNotice,
  withoutMoves,
} from "./shared-pis.ts";

let pis: SharedPis;
let laptop: PiHome;

beforeEach(async () => {
  pis = await startSharedPis();
  laptop = await pis.addDevice("laptop");
});
afterEach(() => pis.close());

const listSessions = async (): Promise<PiRecord[]> =>
  (await runCommandJson(["sessions", "--home", laptop.coppiceHome])).sessions;
const type = async (pi: PiProcess, command: string): Promise<string> => {
  const from = pi.records.length;
  await pi.prompt(command);
  return waitForNotice(pi, () => true, from);
};

describePi("what is shared", () => {
  it("[EX10] a pause lets nothing leave pi, and everything follows after it", async () => {
    const phone = await pis.addDevice("phone");
    const pi = await pis.start(laptop);
    expect(await type(pi, "/coppice pause")).toMatch(/nothing to pause/);
    await type(pi, "/coppice on");
    await pi.prompt("before the pause");
    await pi.waitForStatus("coppice", isLive);
    expect(await type(pi, "/coppice pause")).toMatch(/^Paused/);
    expect(await pi.waitForStatus("coppice", () => true)).toBe("coppice: paused");
    await pi.prompt("in the pause");
    const { header } = await readPiFile(laptop);
    const seen = JSON.stringify(await readEntries(phone, header.id));
    expect(seen).toContain("before the pause");
    expect(seen).not.toContain("in the pause");
    expect(JSON.stringify(await readEntries(laptop, header.id))).not.toContain("in the pause");

    await type(pi, "/coppice resume");
    await pi.waitForStatus("coppice", isLive);
    const { entries } = await readPiFile(laptop);
    expect(withoutMoves(await readEntries(phone, header.id))).toEqual(entries);
  });

  it("[EX11] switched off nothing more leaves pi, now or after a restart; what is shared stays", async () => {
    const pi = await pis.start(laptop);
    await type(pi, "/coppice on");
    await pi.prompt("shared");
    await pi.waitForStatus("coppice", isLive);
    await type(pi, "/coppice off");
    expect(await pi.waitForStatus("coppice", () => true)).toBe("coppice: off");
    await pi.prompt("kept here");
    expect(await pi.stop()).toBe(0);
    const next = await pis.start(laptop, { args: ["--continue"] });
    await next.prompt("kept here too");
    expect(await next.waitForStatus("coppice", () => true)).toBe("coppice: off");
    expect(await next.stop()).toBe(0);
    const { header, entries } = await readPiFile(laptop);
    const shared = JSON.stringify(await readEntries(laptop, header.id));
    expect(shared).toContain("shared");
    expect(shared).not.toContain("kept here");
    // As pi writes it, and nothing else.
    expect(entries.filter((entry: PiRecord) => entry.type === "custom")).toEqual([]);
  });

  it("[EX12] a folder is switched for all its sessions, and a session's own switch goes before it", async () => {
    const pi = await pis.start(laptop);
    await type(pi, "/coppice on project");
    await pi.prompt("one");
    await pi.waitForStatus("coppice", isLive);
    await pi.call("new_session");
    await pi.prompt("two");
    await pi.waitForStatus("coppice", isLive);
    expect(await type(pi, "/coppice off")).toMatch(/^Nothing leaves pi/);
    await pi.call("new_session");
    await pi.prompt("three");
    await pi.waitForStatus("coppice", isLive);
    expect(await type(pi, "/coppice off project")).toMatch(/^Nothing leaves pi/);
    expect(await pi.stop()).toBe(0);
    expect(await listSessions()).toHaveLength(3);
    expect(await readdir(laptop.sessionDir)).toHaveLength(3);
  });

  it("[EX13] /coppice says what, where and why, and lists the devices", async () => {
    const phone = await pis.addDevice("phone");
    await runCommandWell(["sync", "--once", "--home", phone.coppiceHome]);
    const pi = await pis.start(laptop);
    expect(await type(pi, "/coppice")).toMatch(/^coppice: off\nNobody has switched it on\.\n\/coppice on shares/);
    await type(pi, "/coppice on");
    await pi.prompt("shared");
    await pi.waitForStatus("coppice", isLive);
    expect(await type(pi, "/coppice")).toBe(
      `coppice: live · 1 device · 0 waiting\nSwitched on for this session.\nRelay: ${pis.relay.url}\nOpen on: laptop (this device)`,
    );
    // In the order in which they first wrote, which the relay's answer may turn round for whoever wrote offline.
    const devices = (await type(pi, "/coppice devices")).split("\n").sort();
    expect(devices).toEqual(["laptop · this device · has this session open", "phone"]);
    expect(await type(pi, "/coppice nonsense")).toMatch(/^Coppice has no command "nonsense"/);
    expect(await type(pi, "/coppice help")).toMatch(/^\/coppice /);
  });

  it("[EX14] without a workspace on the device it says so, pi goes on, and it works once there is one", async () => {
    await rm(laptop.coppiceHome, { recursive: true });
    const pi = await pis.start(laptop);
    await type(pi, "/coppice on");
    await pi.prompt("a prompt");
    const status = await pi.waitForStatus("coppice", (text) => /\/coppice pair/.test(text ?? ""));
    expect(status).toBe("coppice: this device is in no workspace yet; /coppice pair makes or joins one");
    await pi.prompt("pi goes on");
    await runCommandWell(["init", pis.relay.url, "--name", "laptop", "--home", laptop.coppiceHome]);
    await type(pi, "/coppice on");
    await pi.waitForStatus("coppice", isLive);
    expect(await pi.stop()).toBe(0);
    const { header, entries } = await readPiFile(laptop);
    expect(withoutMoves(await readEntries(laptop, header.id))).toEqual(entries);
  });

  it("[EX15] while the relay is away pi goes on, the status line counts what waits, and all of it follows", async () => {
    const pi = await pis.start(laptop);
    await type(pi, "/coppice on");
    await pi.prompt("online");
    await pi.waitForStatus("coppice", isLive);
    await pis.relay.kill();
    await pi.waitForStatus("coppice", (text) => /^coppice: offline/.test(text ?? ""));
    await pi.prompt("offline");
    await pi.waitForStatus("coppice", (text) => /^coppice: offline · [2-9] waiting/.test(text ?? ""));
    await pis.restartRelay();
    await pi.waitForStatus("coppice", isLive);
  });
});

describePi("before a session is shared for the first time", () => {
  // Put together here, so that no file of the project holds anything that looks like a secret.
  const token = `ghp_${"a1B2c3".repeat(6)}`;

  it("[EX25] its owner hears of likely secrets in it and decides; what was decided stands", async () => {
    for (const choice of [1, 0]) {
      const asked: PiRecord[] = [];
      const pi = await pis.start(laptop, {}, (request) => {
        asked.push(request);
        return { value: request.options[choice] };
      });
      await pi.prompt(`use ${token}`);
      await type(pi, "/coppice on");
      if (choice === 0) await pi.waitForStatus("coppice", isLive);
      else await pi.waitForStatus("coppice", (text) => asked.length > 0 && text === "coppice: off");
      expect(asked).toMatchObject([
        { title: expect.stringMatching(/^Coppice: 1 likely secret: github in this session/) },
      ]);
      expect(JSON.stringify(asked)).not.toContain(token);
      expect(await listSessions()).toHaveLength(1 - choice);
      if (choice === 1) expect(await type(pi, "/coppice")).toMatch(/Switched off for this session\.\n1 likely secret/);
      expect(await pi.stop()).toBe(0);
    }
  });

  it("[EX25] where nobody can be asked it is not shared, and pi says so beside its answer", async () => {
    const pi = await pis.start(laptop);
    await type(pi, "/coppice on project");
    expect(await pi.stop()).toBe(0);
    const printed = await runPiPrint({ home: laptop, extensions: [coppiceExtension] }, `use ${token}`);
    expect(printed).toMatchObject({ code: 0, stdout: `re: use ${token} [1]\n` });
    expect(printed.stderr).toMatch(/^coppice: not shared: 1 likely secret: github\. Open the session in pi/);
    expect(await listSessions()).toEqual([]);
  });
});

describePi("/coppice pair", () => {
  it("[EX26] makes a workspace at a relay, shows the link after a question, and joins by it", async () => {
    const phone = await pis.addDevice("phone");
    for (const home of [laptop, phone]) await rm(home.coppiceHome, { recursive: true });
    const onLaptop = await pis.start(laptop, {}, ({ method }) =>
      method === "input" ? { value: pis.relay.url } : { confirmed: true },
    );
    await type(onLaptop, "/coppice on");
    await onLaptop.prompt("waits for a workspace");
    await onLaptop.waitForStatus("coppice", (text) => text?.includes("/coppice pair") ?? false);
    expect(await type(onLaptop, "/coppice pair")).toMatch(/has a workspace now/);
    await onLaptop.waitForStatus("coppice", isLive);
    const shown = await type(onLaptop, "/coppice pair");
    const [link = ""] = /ws:\/\/\S+#coppice=\S+/.exec(shown) ?? [];
    expect(shown).toContain("█");

    const onPhone = await pis.start(phone);
    expect(await type(onPhone, "/coppice pair")).toMatch(/in no workspace yet/);
    expect(await type(onPhone, "/coppice pair nonsense")).toMatch(/^Coppice: .*not a relay address/);
    expect(await type(onPhone, `/coppice pair ${link}`)).toMatch(/is in the workspace/);
    const from = onPhone.records.length;
    await onPhone.prompt(`/coppice open ${(await readPiFile(laptop)).header.id}`);
    const isShown = (r: PiRecord): boolean => r.method === "setStatus" && isLive(r.statusText);
    await onPhone.waitFor("the session", isShown, from);
    expect(JSON.stringify(await onPhone.call("get_entries"))).toContain("waits for a workspace");
    // Cancelled, the link is not shown.
    const before = onPhone.records.length;
    await onPhone.prompt("/coppice pair");
    expect(JSON.stringify(onPhone.records.slice(before))).not.toContain("#coppice=");
  });
});
