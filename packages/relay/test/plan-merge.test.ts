import { maxChunkBytes } from "@coppice/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fullBytes, planMerge, type StoredSize } from "../src/plan-merge.ts";
import { StoredSizes } from "../src/stored-sizes.ts";

/** Merges as the plan says until it says nothing; returns how many bytes were written for it. */
function settle(sizes: StoredSizes): number {
  let writtenBytes = 0;
  for (let range = sizes.plan(); range !== undefined; range = sizes.plan()) {
    const { from, to } = range;
    const merged = sizes.list().filter(({ seq }) => seq >= from && seq <= to);
    const bytes = merged.reduce((sum, stored) => sum + stored.bytes, 0);
    expect(merged.length).toBeGreaterThan(1);
    expect(bytes).toBeLessThanOrEqual(maxChunkBytes);
    sizes.replace(range, [{ seq: to, bytes }]);
    writtenBytes += bytes;
  }
  return writtenBytes;
}

const sum = (stored: readonly StoredSize[]): number => stored.reduce((total, { bytes }) => total + bytes, 0);

test("[RL64] merging ends with few stored updates, none above a chunk, whatever the sizes were and however often it runs", () => {
  const sizeOf = fc.oneof(fc.integer({ min: 20, max: 3_000 }), fc.integer({ min: 20, max: 600_000 }));
  fc.assert(
    fc.property(fc.array(sizeOf, { maxLength: 400 }), fc.integer({ min: 1, max: 100 }), (updates, every) => {
      const sizes = new StoredSizes();
      updates.forEach((bytes, i) => {
        sizes.add({ seq: i + 1, bytes });
        if (i % every === 0) settle(sizes);
      });
      settle(sizes);
      const stored = sizes.list();
      expect(sum(stored)).toBe(updates.reduce((total, bytes) => total + bytes, 0));
      expect(stored.map(({ seq }) => seq)).toEqual([...new Set(stored.map(({ seq }) => seq))].sort((a, b) => a - b));
      // Between two large ones no more small ones stay than the steps of growing leave.
      let small = 0;
      for (const { bytes } of stored) {
        small = bytes >= fullBytes ? 0 : small + 1;
        expect(small).toBeLessThan(60);
      }
      expect(planMerge(stored)).toBeUndefined();
    }),
  );
});

test("[RL64] a byte is copied a few times, not once per append", () => {
  for (const [bytes, every] of [
    [300, 64],
    [2_000, 64],
    [300, 8],
    [300, 1],
  ] as const) {
    const sizes = new StoredSizes();
    let writtenBytes = 0;
    for (let seq = 1; seq <= 20_000; seq += 1) {
      sizes.add({ seq, bytes });
      if (seq % every === 0) writtenBytes += settle(sizes);
    }
    writtenBytes += settle(sizes);
    expect(writtenBytes / sum(sizes.list())).toBeLessThan(6);
    expect(sizes.list().length).toBeLessThan((2 * sum(sizes.list())) / fullBytes + 60);
  }
});
