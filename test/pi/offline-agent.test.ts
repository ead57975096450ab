import { expect, it } from "vitest";

// By name, because a plain script has no types of its own.
const exampleModule = "@coppice/example-offline-agent/run.mjs";
const { runExample }: { runExample(print: (line: string) => void): Promise<void> } = await import(exampleModule);

it("[PI14] the example's agents work offline and apart, are merged into one tree, and one goes over to the other", async () => {
  const lines: string[] = [];
  await runExample((line) => lines.push(line));
  expect(lines.map((line) => line.split(" ")[0])).toEqual(["offline", "connected", "apart", "merged", "resumed"]);
  expect(lines[3]).toContain("one tree of 15 entries");
});
