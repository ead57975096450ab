import { beforeAll, describe, expect, it } from "vitest";
import { runCli } from "../src/run-cli.ts";
import { makeDevice, requireFreshBuild, startRelay } from "./support/run-coppice.ts";
import { shortSessionId, writeSessionFile } from "./support/session-files.ts";

beforeAll(requireFreshBuild);

describe("rename", () => {
  it("[CP81, CP92] gives a session another name, by which other devices find it", async () => {
    const relay = await startRelay();
    const laptop = await makeDevice("laptop", relay.url);
    await laptop.runJson(["import", await writeSessionFile()]);
    expect(await laptop.runJson(["rename", "Woods", "Old\nwoods"])).toEqual({
      coppice: "rename",
      version: 1,
      session: { id: shortSessionId, name: "Old woods" },
      waiting: 0,
    });
    const { link } = await laptop.runJson(["link"]);
    const desktop = await makeDevice("desktop", link);
    expect(await desktop.runJson(["show", "Old woods"])).toMatchObject({ session: { name: "Old woods" } });
    expect((await desktop.run(["rename", "Old woods", "Woods"])).stdout).toBe(
      "now called Woods\nsaved here and at the relay\n",
    );
  });

  it("[CP1, CP81] takes no empty name", async () => {
    const device = await makeDevice("laptop");
    expect(await device.run(["rename", "x", " "])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: "coppice: The name is empty; write the session's new name, in quotes.\n",
    });
  });
});

describe("label", () => {
  it("[CP82, CP92] puts a label on an entry, another in its place, and takes it away", async () => {
    const device = await makeDevice("laptop");
    await device.runJson(["import", await writeSessionFile()]);
    const labelOf = async (): Promise<string | undefined> => {
      const { entries } = await device.runJson(["tree", "Woods"]);
      return entries.find(({ id }: { id: string }) => id === "e0000002").label;
    };
    expect(await device.runJson(["label", "Woods", "0002", "good answer"])).toEqual({
      coppice: "label",
      version: 1,
      session: { id: shortSessionId, name: "Woods" },
      entryId: "e0000002",
      label: "good answer",
      waiting: expect.any(Number),
    });
    expect(await labelOf()).toBe("good answer");
    expect((await device.run(["label", "Woods", "0002", "best answer"])).stdout).toBe(
      "[best answer] on e0000002  a  A wood that grows again from its stumps.\nsaved here; this workspace has no relay\n",
    );
    expect(await labelOf()).toBe("best answer");
    expect(await device.runJson(["label", "Woods", "0002", "--remove"])).toMatchObject({ label: null });
    expect(await labelOf()).toBeUndefined();
  });

  it.each([
    [["x", "y"], "The label is missing; write it after the entry, or --remove to take the entry's label away."],
    [["x", "y", " "], "The label is missing; write it after the entry, or --remove to take the entry's label away."],
    [
      ["x", "y", "name", "--remove"],
      "--remove takes the label away, so no new one goes with it; leave one of them out.",
    ],
  ])("[CP1, CP82] %j is wrong usage", async (args, sentence) => {
    const device = await makeDevice("laptop");
    expect(await device.run(["label", ...args])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: `coppice: ${sentence}\n`,
    });
  });
});

describe("devices", () => {
  it("[CP83, CP92] lists the devices of the workspace and says which one this is", async () => {
    const relay = await startRelay();
    const laptop = await makeDevice("laptop", relay.url);
    const { link } = await laptop.runJson(["link"]);
    await laptop.runJson(["sync", "--once"]);
    const desktop = await makeDevice("desktop", link);
    const listed = await desktop.runJson(["devices"]);
    expect(listed).toEqual({
      coppice: "devices",
      version: 1,
      devices: expect.arrayContaining([
        { id: expect.any(String), name: "laptop", self: false },
        { id: expect.any(String), name: "desktop", self: true },
      ]),
    });
    expect(listed.devices).toHaveLength(2);
    const lines = (await desktop.run(["devices"])).stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines.filter((line) => line.endsWith("desktop  (this device)"))).toHaveLength(1);
  });
});

describe("device rename", () => {
  it("[CP93, CP98] gives this device another name, for everybody", async () => {
    const relay = await startRelay();
    const laptop = await makeDevice("laptop", relay.url);
    const { link } = await laptop.runJson(["link"]);
    const desktop = await makeDevice("desktop", link);
    expect(await laptop.runJson(["device", "rename", "old laptop"])).toEqual({
      coppice: "device-rename",
      version: 1,
      device: { id: expect.any(String), name: "old laptop" },
      waiting: 0,
    });
    const { devices } = await desktop.runJson(["devices"]);
    expect(devices.map(({ name }: { name: string }) => name).sort()).toEqual(["desktop", "old laptop"]);
  });

  it.each([
    [["device", "revoke", "x"], 'device takes rename, not "revoke".'],
    [["device", "rename", " "], "The name is empty; write the device's new name."],
  ])("[CP1, CP93] %j is wrong usage", async (args, sentence) => {
    const device = await makeDevice("laptop");
    expect(await device.run(args)).toMatchObject({ code: 2, stdout: "", stderr: `coppice: ${sentence}\n` });
  });
});

describe("fork", () => {
  it("[CP94, CP98] makes a session of its own, whole, up to an entry or before it, and leaves the other as it is", async () => {
    const device = await makeDevice("laptop");
    await device.runJson(["import", await writeSessionFile()]);
    const { entryId: question } = await device.runJson(["append", "Woods", "--role", "user", "And a pollard?"]);
    const before = (await device.run(["log", "Woods", "--raw"])).stdout;
    const idsOf = async (reference: string): Promise<string[]> => {
      const { entries } = await device.runJson(["log", reference]);
      return entries.map(({ entry }: { entry: { id: string } }) => entry.id);
    };
    const whole = await device.runJson(["fork", "Woods"]);
    expect(whole).toEqual({
      coppice: "fork",
      version: 1,
      session: { id: expect.any(String), name: "Woods" },
      from: { id: shortSessionId, name: "Woods" },
      entries: expect.any(Number),
      waiting: expect.any(Number),
    });
    expect((await idsOf(whole.session.id)).slice(0, 4)).toEqual(["e0000001", "e0000002", "e0000003", question]);
    const at = await device.runJson(["fork", shortSessionId, "0002", "--name", "Up to here"]);
    expect((await idsOf("Up to here")).slice(0, 2)).toEqual(["e0000001", "e0000002"]);
    expect(await idsOf("Up to here")).not.toContain("e0000003");
    const earlier = await device.runJson(["fork", shortSessionId, question, "--before", "--name", "Before it"]);
    expect(await idsOf("Before it")).not.toContain(question);
    const { sessions } = await device.runJson(["sessions"]);
    for (const { session } of [whole, at, earlier]) {
      const listed = sessions.find(({ id }: { id: string }) => id === session.id);
      expect(listed).toMatchObject({ name: session.name, parentSession: shortSessionId });
    }
    // What is appended to a fork stays there.
    await device.runJson(["append", "Up to here", "--role", "user", "Another way"]);
    expect((await device.run(["log", shortSessionId, "--raw"])).stdout).toBe(before);
  });

  it.each([
    [["x", "y", "--at", "--before"], "--at and --before are two places; leave one of them out."],
    [["x", "--before"], "--before needs an entry; write it after the session."],
  ])("[CP1, CP94] %j is wrong usage", async (args, sentence) => {
    const device = await makeDevice("laptop");
    expect(await device.run(["fork", ...args])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: `coppice: ${sentence}\n`,
    });
  });
});

describe("archive", () => {
  it("[CP95, CP98] takes a session out of the list of every device, and back; it is found all the same", async () => {
    const relay = await startRelay();
    const laptop = await makeDevice("laptop", relay.url);
    await laptop.runJson(["import", await writeSessionFile()]);
    const { link } = await laptop.runJson(["link"]);
    const desktop = await makeDevice("desktop", link);
    expect(await laptop.runJson(["archive", "Woods"])).toEqual({
      coppice: "archive",
      version: 1,
      session: { id: shortSessionId, name: "Woods" },
      archived: true,
      waiting: 0,
    });
    expect((await desktop.runJson(["sessions"])).sessions).toEqual([]);
    expect((await desktop.runJson(["sessions", "--archived"])).sessions).toMatchObject([
      { id: shortSessionId, name: "Woods", archived: true },
    ]);
    expect((await desktop.run(["show", "Woods"])).stdout).toContain("A wood that grows again");
    expect((await desktop.run(["archive", "Woods", "--undo"])).stdout).toBe(
      "Woods is back in the list\nsaved here and at the relay\n",
    );
    expect((await laptop.runJson(["sessions"])).sessions).toHaveLength(1);
  });
});

describe("delete", () => {
  it("[CP96, CP98] deletes a session for everybody, here, on another device and at the relay", async () => {
    const relay = await startRelay();
    const laptop = await makeDevice("laptop", relay.url);
    await laptop.runJson(["import", await writeSessionFile()]);
    const { link } = await laptop.runJson(["link"]);
    const desktop = await makeDevice("desktop", link);
    await desktop.runJson(["sync", "--once"]);
    expect(await laptop.runJson(["delete", "Woods", "--yes"])).toEqual({
      coppice: "delete",
      version: 1,
      session: { id: shortSessionId, name: "Woods" },
      confirmed: true,
      waiting: 0,
    });
    for (const device of [laptop, desktop]) expect((await device.runJson(["sessions"])).sessions).toEqual([]);
  });

  it("[CP97, CP98] leaves a late writer what he has, says how much was never sent, and a fork saves it", async () => {
    const relay = await startRelay();
    const laptop = await makeDevice("laptop", relay.url);
    await laptop.runJson(["import", await writeSessionFile()]);
    const { link } = await laptop.runJson(["link"]);
    const desktop = await makeDevice("desktop", link);
    await desktop.runJson(["sync", "--once"]);
    const { entryId } = await desktop.runJson(["append", "Woods", "--role", "user", "Written late", "--offline"]);
    await laptop.runJson(["delete", "Woods", "--yes"]);
    expect((await desktop.runJson(["sessions"])).sessions).toEqual([]);
    expect((await desktop.runJson(["sessions", "--deleted"])).sessions).toMatchObject([
      { id: shortSessionId, name: "Woods", deleted: true, unsent: 1 },
    ]);
    expect((await desktop.run(["sessions", "--deleted"])).stdout).toContain("1 unsent; `coppice fork` saves them");
    expect(await desktop.run(["rename", "Woods", "Meadows"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^coppice: The session Woods was deleted; `coppice show` still shows .* new session of that\.\n$/,
      ),
    });
    expect((await desktop.run(["append", "Woods", "--role", "user", "More"])).code).toBe(1);
    const { session } = await desktop.runJson(["fork", "Woods", "--name", "Rescued"]);
    const { entries } = await laptop.runJson(["log", session.id]);
    expect(entries.map(({ entry }: { entry: { id: string } }) => entry.id)).toContain(entryId);
  });

  it("[CP1, CP96] does nothing where nobody can be asked, and says what it would do", async () => {
    const device = await makeDevice("laptop");
    await device.runJson(["import", await writeSessionFile()]);
    expect(await device.run(["delete", "Woods"])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: "coppice: Deleting cannot be undone, and nobody can be asked here; write --yes to delete all the same.\n",
    });
    expect((await device.runJson(["sessions"])).sessions).toHaveLength(1);
    expect((await device.run(["delete", "--help"])).stdout).toContain("It leaves the list on every device");
  });

  it.each([
    ["yes\n", 0, []],
    ["y\n", 1, [expect.anything()]],
    ["", 1, [expect.anything()]],
  ])("[CP96] asks somebody at a terminal, who answers %j", async (answer, code, left) => {
    const device = await makeDevice("laptop");
    await device.runJson(["import", await writeSessionFile()]);
    const stdin = Object.assign(
      (async function* () {
        // In pieces, as they come from a terminal over a slow line.
        for (const piece of answer) yield new TextEncoder().encode(piece);
      })(),
      { isTTY: true },
    );
    const written: string[] = [];
    const ended = await runCli(["delete", "Woods", "--home", device.home], {
      stdout: { write: () => true },
      stderr: { write: (text) => written.push(text) },
      stdin,
      env: {},
      platform: process.platform,
      listenForStop: () => new AbortController().signal,
    });
    expect(ended).toBe(code);
    expect(written.join("")).toContain('Delete "Woods" on every device and at the relay?');
    expect((await device.runJson(["sessions"])).sessions).toEqual(left);
  });
});
