import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pickRetryDelayMs, pickSignInDelayMs } from "../src/retry-delay.ts";

const most = (): number => 1 - 2 ** -53;

describe("waits between attempts", () => {
  it("[SY11] the longest wait doubles from 200 ms to 1.5 s, and is 15 s for a relay that stays away", () => {
    const longest = [1, 2, 3, 4, 5, 60, 61, 10_000].map((failures) =>
      Math.round(pickRetryDelayMs(failures, 1_500, most)),
    );
    expect(longest).toEqual([200, 400, 800, 1_500, 1_500, 1_500, 15_000, 15_000]);
    expect(pickRetryDelayMs(0, 1_500, most)).toBe(0);
  });

  it("[SY11] it is drawn evenly from the whole range", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, drawn) => {
        const longest = pickRetryDelayMs(failures, 1_500, () => 1);
        expect(pickRetryDelayMs(failures, 1_500, () => drawn)).toBeCloseTo(drawn * longest);
      }),
    );
  });

  it("[SY14] however it is drawn, a refused token is tried at most 10 times in any minute, and less and less often", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 30, maxLength: 30 }), (drawn) => {
        const times = [0];
        for (const [at, random] of drawn.entries())
          times.push((times.at(-1) ?? 0) + pickSignInDelayMs(at + 1, () => random));
        for (const from of times)
          expect(times.filter((time) => time >= from && time < from + 60_000).length).toBeLessThanOrEqual(10);
      }),
    );
    const longest = [1, 2, 3, 4, 5, 6].map((refusals) => pickSignInDelayMs(refusals, () => 1));
    expect(longest).toEqual([0, 14_000, 28_000, 56_000, 60_000, 60_000]);
  });
});
