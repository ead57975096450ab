import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createUuidV7, createUuidV7Source } from "../src/index.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("UUIDv7", () => {
  test("[EN1] an id is a full UUIDv7 whose first 48 bits are the time in milliseconds", () => {
    const id = createUuidV7({ now: () => 0x0123456789ab, fillRandom: (bytes) => bytes.fill(0xff) });
    expect(id).toBe("01234567-89ab-7fff-bfff-ffffffffffff");
    expect(createUuidV7({ now: () => 5, fillRandom: (bytes) => bytes.fill(0) })).toBe(
      "00000000-0005-7000-8000-000000000000",
    );
  });

  test("[EN1] with the system's clock and randomness ids are well-formed and differ", () => {
    const before = Date.now();
    const ids = Array.from({ length: 100 }, () => createUuidV7());
    const times = ids.map((id) => Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16));
    for (const id of ids) expect(id).toMatch(UUID_V7);
    expect(new Set(ids).size).toBe(100);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(before);
    expect(Math.max(...times)).toBeLessThanOrEqual(Date.now());
  });

  test("[EN2] ids of one source grow strictly, within a millisecond and when the clock steps back", () => {
    const clockTimes = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 2, maxLength: 40 });
    fc.assert(
      fc.property(clockTimes, fc.infiniteStream(fc.nat(255)), (times, randomBytes) => {
        let call = 0;
        const createId = createUuidV7Source({
          now: () => times[call++] ?? 0,
          fillRandom: (bytes) => bytes.set([...randomBytes.take(bytes.length)]),
        });
        const ids = times.map(() => createId());
        expect(ids).toEqual([...new Set(ids)].sort());
        for (const id of ids) expect(id).toMatch(UUID_V7);
      }),
    );
  });

  test("[EN2] when the counter of a millisecond is used up, ids go on in the next", () => {
    const createId = createUuidV7Source({ now: () => 7, fillRandom: (bytes) => bytes.fill(0xff) });
    expect(createId()).toBe("00000000-0007-7fff-bfff-ffffffffffff");
    expect(createId()).toBe("00000000-0008-7000-8000-03ffffffffff");
  });
});
