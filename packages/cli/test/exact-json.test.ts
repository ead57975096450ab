import { describe, expect, it } from "vitest";
import { ExactJson, stringifyShape } from "../src/exact-json.ts";
import { makeDevice, makeTempFolder } from "./support/run-coppice.ts";
import { shortSessionId, writeSessionFile } from "./support/session-files.ts";

/** Far deeper than a value that JavaScript can write as JSON. */
const depth = 20_000;
const deepValue = `${"[".repeat(depth)}${"]".repeat(depth)}`;

describe("an entry in a shape", () => {
  it("[CP86] is its exact text: spaces, order, repeated fields, numbers no double can hold", () => {
    const text = '{"b": 1e400,  "a":12345678901234567890, "a": "\\u00e9", "1":0}';
    expect(stringifyShape({ version: 1, none: undefined, entries: [new ExactJson(text), null, undefined] })).toBe(
      `{"version":1,"entries":[${text},null,null]}`,
    );
  });

  it("[CP86] stands on one line", () => {
    expect(stringifyShape([new ExactJson('{\r\n"a":1,\n"b":"x\\ny"}')])).toBe('[{ "a":1, "b":"x\\ny"}]');
  });

  it.each([[{ a: [1, { b: null }], c: "é\u2028", d: undefined }], [[undefined, true, Number.NaN]], [{}], [[]], ["x"]])(
    "[CP86] what is none is written as JSON.stringify does: %j",
    (value) => {
      expect(stringifyShape(value)).toBe(JSON.stringify(value));
    },
  );

  it("[CP2, CP86] may be nested however deep; the model's context says in one sentence why it cannot be shown", async () => {
    const device = await makeDevice("laptop");
    const entry = `{"type":"message","id":"deep0001","parentId":null,"timestamp":"2026-12-01T10:00:00.000Z","message":{"role":"user","content":"deep","details":${deepValue}}}`;
    const file = await writeSessionFile({ folder: await makeTempFolder(), entries: [], more: `${entry}\n` });
    await device.runJson(["import", file]);
    for (const args of [
      ["log", shortSessionId],
      ["show", shortSessionId],
    ]) {
      const result = await device.run([...args, "--json"]);
      expect(result).toMatchObject({ code: 0, stderr: "" });
      expect(result.stdout).toContain(entry);
    }
    expect((await device.run(["log", shortSessionId])).stdout).toContain("u  deep");
    expect(await device.run(["show", shortSessionId, "--context", "--json"])).toMatchObject({
      code: 1,
      stdout: "",
      stderr:
        "coppice: An entry is nested too deep to be shown in this shape; `coppice log --raw` prints the exact texts, one per line.\n",
    });
  });
});
