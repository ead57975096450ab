import { describe, expect, it } from "vitest";
import { Coverage, decodeCoverage, encodeCoverage } from "../src/coverage.ts";

describe("Coverage", () => {
  it("[CL5] counts what the relay is not known to hold, whichever client id wrote it", () => {
    const coverage = new Coverage(new Map([[1, 4]]));
    const held = new Map([
      [1, 6],
      [2, 3],
    ]);
    expect(coverage.countPending(held)).toBe(5);
    coverage.raise(2, 3);
    coverage.raise(1, 5);
    expect(coverage.countPending(held)).toBe(1);
  });

  it("[CL5] is not lowered by raising it", () => {
    const coverage = new Coverage();
    expect(coverage.raise(7, 5)).toBe(true);
    expect(coverage.raise(7, 3)).toBe(false);
    expect(coverage.get(7)).toBe(5);
  });

  it("[CL5] a relay that holds less lowers it, one that holds more does not raise it", () => {
    const coverage = new Coverage(
      new Map([
        [1, 9],
        [2, 4],
        [3, 4],
      ]),
    );
    const relay = new Map([
      [1, 2],
      [2, 6],
    ]);
    expect(coverage.lowerTo(relay)).toBe(true);
    expect(coverage.lowerTo(relay)).toBe(false);
    expect([1, 2, 3].map((client) => coverage.get(client))).toEqual([2, 4, 0]);
  });

  it("[CL40] is read back as written; what is no coverage is none", () => {
    const coverage = new Coverage(
      new Map([
        [4_294_967_295, 70_000],
        [2, 1],
      ]),
    );
    const bytes = encodeCoverage(coverage);
    expect(decodeCoverage(bytes).entries()).toEqual(coverage.entries());
    expect(decodeCoverage(bytes.subarray(0, bytes.length - 1)).entries().size).toBe(0);
    expect(decodeCoverage(undefined).entries().size).toBe(0);
  });
});
