import { expect, test } from "vitest";
import { FreeSpace, showsSpace } from "../src/free-space.ts";
import { canMount, mountSmallDisk } from "./small-disk.ts";

const [mebibyte, gibibyte] = [1024 ** 2, 1024 ** 3];

test("[UL45] how much a disk has left counts only as long as nobody can have filled it", () => {
  const ask = (freeBytes: number, bytes: number, ageMs: number): boolean =>
    showsSpace({ freeBytes, atMs: 5_000 }, bytes, 5_000 + ageMs);
  // Without any delay: what was asked for and 1 MiB.
  expect(ask(3 * mebibyte, 2 * mebibyte, 0)).toBe(true);
  expect(ask(3 * mebibyte - 1, 2 * mebibyte, 0)).toBe(false);
  // 16 MiB may go in each millisecond.
  expect(ask(gibibyte, 0, 63)).toBe(true);
  expect(ask(gibibyte, 0, 64)).toBe(false);
  expect(ask(gibibyte, 48 * mebibyte, 63)).toBe(false);
  // A disk may also be made smaller.
  expect(ask(1000 * gibibyte, 0, 999)).toBe(true);
  expect(ask(1000 * gibibyte, 0, 1_000)).toBe(false);
});

test.skipIf(!canMount)("[UL45] a small disk that was filled just now is found full, and free again", async () => {
  const disk = await mountSmallDisk(4);
  const space = new FreeSpace(disk.folder);
  for (let round = 0; round < 3; round++) {
    await space.assert(1000);
    await disk.fill();
    await expect(space.assert(1000)).rejects.toThrow("No space left");
    await disk.empty();
  }
});
