import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Faults that users of software of this kind met; numbers that are missing were never given or come with what they are about. */
const faults = [
  ...["F1", "F3", "F5", "F7", "F8", "F9", "F11", "F12", "F14", "F15", "F17", "F18", "F21"],
  ...["F22", "F24", "F25", "F27", "F29", "F31", "F32", "F33", "F34", "F35", "F37", "F38"],
  ...["F40", "F41", "F42", "F44", "F45", "F46", "F48", "F50", "F51", "F52", "F53"],
  ...["F54", "F55", "F56", "F58", "F60", "F59", "F63", "F64", "F66", "F79", "F80", "F81", "F83", "F88", "F90"],
  // Of browsers.
  ...["F62"],
  ...["F69", "F71", "F72", "F73", "F77", "F78"],
  // Those of pi's own session files.
  ...["F97", "F100"],
];

describe("faults of other software of this kind", () => {
  const table = readFileSync(join(root, "test/fault-kinds.md"), "utf8");
  const notApplicable = [...table.matchAll(/^\| (F\d+) *\| .+ \| .{20,} \|$/gm)].map(([, fault]) => fault);
  const tested = new Set(readTestFiles().flatMap(faultsInTitles));

  it.each(faults)("%s is named by a test or says why it cannot occur", (fault) => {
    expect([tested.has(fault), notApplicable.includes(fault)]).toContain(true);
  });

  it("none is both tested and said not to apply", () => {
    expect(notApplicable.filter((fault) => fault !== undefined && tested.has(fault))).toEqual([]);
  });
});

function readTestFiles(): string[] {
  return ["packages", "test"].flatMap((folder) =>
    (readdirSync(join(root, folder), { recursive: true }) as string[])
      .filter((path) => path.endsWith(".ts") && !/(^|[/\\])(node_modules|dist)[/\\]/.test(path))
      .map((path) => readFileSync(join(root, folder, path), "utf8")),
  );
}

/** Faults named in titles that begin with the rule they check. */
function faultsInTitles(text: string): string[] {
  return [...text.matchAll(/(["'`])\[[A-Z]{2}\d+(?:(?!\1).)*/g)].flatMap(([title]) => title.match(/\bF\d+\b/g) ?? []);
}
