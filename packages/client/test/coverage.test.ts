import { describe, expect, it } from "vitest";
import { Coverage } from "../src/coverage.ts";

describe("Coverage", () => {
  it("[CL5] counts what the relay has not acknowledged, whichever client id wrote it", () => {
    const coverage = new Coverage(new Map([[1, 4]]));
    const held = new Map([
      [1, 6],
      [2, 3],
    ]);
    expect(coverage.countPending(held)).toBe(5);
    coverage.cover(2, 3);
    coverage.cover(1, 5);
    expect(coverage.countPending(held)).toBe(1);
  });

  it("[CL5] never lowers by an acknowledgement that arrives late", () => {
    const coverage = new Coverage();
    expect(coverage.cover(7, 5)).toBe(true);
    expect(coverage.cover(7, 3)).toBe(false);
    expect(coverage.get(7)).toBe(5);
  });

  it("[CL5] a relay that lost records raises pending again", () => {
    const coverage = new Coverage(new Map([[1, 9]]));
    coverage.replace(new Map([[1, 2]]));
    expect(coverage.countPending(new Map([[1, 9]]))).toBe(7);
  });
});
