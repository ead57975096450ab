import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("SPEC.md", () => {
  const rules = [...readFileSync(`${root}/SPEC.md`, "utf8").matchAll(/\*\*([A-Z]{2}\d+)\*\*/g)].map(([, rule]) => rule);
  const cited = new Set(readTestFiles().flatMap(({ text }) => citedRules(text)));

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

function readTestFiles(): { path: string; text: string }[] {
  const paths = globSync(["packages/*/{src,test}/**/*.ts", "test/**/*.ts", "examples/*/**/*.test.ts"], {
    cwd: root,
    exclude: (path) => path.includes("node_modules") || path.includes("dist"),
  });
  return paths.map((path) => ({ path, text: readFileSync(`${root}/${path}`, "utf8") }));
}

/** Rules named in brackets at the start of a test's name: `[RC3]` or `[RC3, RC4]`. */
function citedRules(text: string): string[] {
  return [...text.matchAll(/["'`]\[((?:[A-Z]{2}\d+)(?:,? ?[A-Z]{2}\d+)*)\]/g)].flatMap(([, list]) =>
    (list ?? "").split(/[, ]+/),
  );
}
