import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { plantedBugs, plantInSource } from "../src/planted-bugs.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

describe("planted bugs", () => {
  test.each(plantedBugs.map((bug) => [bug.name, bug] as const))("[SM10] %s still fits the source", (_name, bug) => {
    for (const { file } of bug.replacements) {
      const source = readFileSync(`${root}${file}`, "utf8");
      expect(plantInSource(bug, file, source)).not.toBe(source);
    }
  });

  test("[SM10] a bug that fits nowhere, or twice, is refused", () => {
    const bug = {
      name: "b",
      consequence: "",
      tests: [],
      replacements: [{ file: "f", original: "x", replacement: "y" }],
    };
    expect(() => plantInSource(bug, "f", "a")).toThrow("does not fit");
    expect(() => plantInSource(bug, "f", "xx")).toThrow("does not fit");
    expect(plantInSource(bug, "f", "x")).toBe("y");
    expect(plantInSource(bug, "other", "x")).toBe("x");
  });
});
