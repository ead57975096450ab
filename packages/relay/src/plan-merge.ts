import { maxChunkBytes } from "@coppice/wire";

/** A stored update as merging sees it. */
export interface StoredSize {
  readonly seq: number;
  readonly bytes: number;
}

/** Neighbouring stored updates to be merged into one: from the first position to the last, inclusive. */
export interface MergeRange {
  readonly from: number;
  readonly to: number;
}

/** From this size on a stored update is left alone: merging it again would save little and copy much. */
export const fullBytes: number = maxChunkBytes / 2;

/** Fewer small neighbours are not worth writing their bytes again. */
const minRun = 8;

/**
 * Decides what of a log to merge next; undefined when it is as good as it will be. Two cases: small neighbours that
 * together make a full chunk are merged into one, for good; fewer are merged when they are many and none of them is
 * much larger than all behind it, so that chunks grow in steps and each byte is copied a few times, not once per append.
 *
 * @param stored all stored updates of a log in order
 */
export function planMerge(stored: readonly StoredSize[]): MergeRange | undefined {
  for (let end = stored.length; end > 0; ) {
    let start = end;
    while (start > 0 && (stored[start - 1] as StoredSize).bytes < fullBytes) start -= 1;
    const range = planRun(stored.slice(start, end));
    if (range !== undefined) return range;
    end = start - 1;
  }
  return undefined;
}

/** Plans for neighbours that are all small. */
function planRun(run: readonly StoredSize[]): MergeRange | undefined {
  const totalBytes = run.reduce((sum, { bytes }) => sum + bytes, 0);
  const chosen = totalBytes >= fullBytes ? takeChunk(run) : takeGrown(run);
  const [first, last] = [chosen[0], chosen.at(-1)];
  return first === undefined || last === undefined ? undefined : { from: first.seq, to: last.seq };
}

/** The first ones, as many as fit in a chunk; at least two, since each is below half of it. */
function takeChunk(run: readonly StoredSize[]): readonly StoredSize[] {
  let bytes = 0;
  const end = run.findIndex((stored) => {
    bytes += stored.bytes;
    return bytes > maxChunkBytes;
  });
  return end === -1 ? run : run.slice(0, end);
}

/** The last ones, as far back as they are no larger than what has grown behind them. */
function takeGrown(run: readonly StoredSize[]): readonly StoredSize[] {
  let start = run.length;
  let bytes = 0;
  while (start > 0) {
    const next = run[start - 1] as StoredSize;
    if (start < run.length && next.bytes > 2 * bytes) break;
    bytes += next.bytes;
    start -= 1;
  }
  return run.length - start < minRun ? [] : run.slice(start);
}
