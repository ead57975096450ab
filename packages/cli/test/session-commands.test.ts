import { beforeAll, describe, expect, it } from "vitest";
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
