/** What is known of an update in a log. */
export interface StoredSize {
  readonly seq: number;
  readonly bytes: number;
}

const kibi = 1024;

/**
 * Sizes of chunks, smallest first: updates below one are merged until they reach it, so that a byte is written three
 * times at most. The largest is what Yjs merges and reads back well within 50 ms.
 */
const chunkBytes: readonly number[] = [64 * kibi, 512 * kibi, 4096 * kibi];

/** Merging takes longer than in proportion to the number of updates. */
const maxUpdatesPerMerge = 128;

/** Fewer small updates between two large ones stay as they are. */
const minUpdatesPerMerge = 8;

/** So many new small updates make a log worth looking through. */
export const manySmallUpdates = 256;

/** Whether an update should become part of a chunk. */
export function isSmall(bytes: number): boolean {
  return bytes < (chunkBytes[0] ?? 0);
}

/** The next updates that should become one, as a range of `sizes` (end exclusive); undefined when all is well. */
export function planMerge(sizes: readonly StoredSize[]): { start: number; end: number } | undefined {
  for (const limit of chunkBytes) {
    let start = 0;
    let bytes = 0;
    for (const [index, size] of sizes.entries()) {
      if (size.bytes >= limit) {
        if (index - start >= minUpdatesPerMerge) return { start, end: index };
        start = index + 1;
        bytes = 0;
        continue;
      }
      bytes += size.bytes;
      const count = index + 1 - start;
      if (count > 1 && (bytes >= limit || count === maxUpdatesPerMerge)) return { start, end: index + 1 };
    }
  }
  return undefined;
}
