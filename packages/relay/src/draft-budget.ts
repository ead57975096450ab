/** What one connection may still send of drafts: it fills up with time, to what one second gives. */
export interface DraftBudget {
  readonly bytes: number;
  readonly drafts: number;
  /** When this was worked out, ms. */
  readonly atMs: number;
}

/** How fast one connection may send drafts. */
export interface DraftLimits {
  readonly maxBytesPerSecond: number;
  readonly maxDraftsPerSecond: number;
}

/**
 * Spends a draft: the budget left, or undefined when the draft is too much and must be dropped. A draft costs every
 * other connection of the room its bytes, and the next one replaces it, so dropping some is no loss.
 *
 * @param budget undefined before the first draft
 */
export function spendOnDraft(
  budget: DraftBudget | undefined,
  byteLength: number,
  nowMs: number,
  { maxBytesPerSecond, maxDraftsPerSecond }: DraftLimits,
): DraftBudget | undefined {
  const full = { bytes: maxBytesPerSecond, drafts: maxDraftsPerSecond, atMs: nowMs };
  const { bytes, drafts, atMs } = budget ?? full;
  const seconds = (nowMs - atMs) / 1000;
  const left = {
    bytes: Math.min(maxBytesPerSecond, bytes + seconds * maxBytesPerSecond) - byteLength,
    drafts: Math.min(maxDraftsPerSecond, drafts + seconds * maxDraftsPerSecond) - 1,
    atMs: nowMs,
  };
  return left.bytes < 0 || left.drafts < 0 ? undefined : left;
}
