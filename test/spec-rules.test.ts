import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("SPEC.md", () => {
  const rules = [...readFileSync(`${root}/SPEC.md`, "utf8").matchAll(/\*\*([A-Z]{2}\d+)\*\*/g)].map(([, rule]) => rule);
  const cited = new Set(readTestFiles().flatMap(citedRules));

  it("has rules, each with a number of its own", () => {
    expect(rules.length).toBeGreaterThan(50);
    expect(rules.filter((rule, at) => rules.indexOf(rule) !== at)).toEqual([]);
  });

  it("has no rule without a test that cites it", () => {
    expect(rules.filter((rule) => rule !== undefined && !cited.has(rule))).toEqual([]);
  });

  it("is cited by no test for a rule it does not have", () => {
    expect([...cited].filter((rule) => !rules.includes(rule))).toEqual([]);
  });
});

function readTestFiles(): string[] {
  return ["packages", "test", "examples"].flatMap((folder) =>
    (readdirSync(join(root, folder), { recursive: true }) as string[])
      .filter((path) => path.endsWith(".ts") && !/(^|[/\\])(node_modules|dist)[/\\]/.test(path))
      .map((path) => readFileSync(join(root, folder, path), "utf8")),
  );
}

/** Rules named in brackets at the start of a test's name: `[RC3]`, `[RC3, RC4]` or `[RC3] [RC4]`. */
function citedRules(text: string): string[] {
  return [...text.matchAll(/["'`]((?:\[[A-Z]{2}\d+(?:, ?[A-Z]{2}\d+)*\] ?)+)/g)].flatMap(([, names]) =>
    [...(names ?? "").matchAll(/[A-Z]{2}\d+/g)].map(([rule]) => rule),
  );
}
