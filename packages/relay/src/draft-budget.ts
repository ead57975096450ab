import { type RateBudget, spend } from "./rate-budget.ts";

/** What one connection may still send of drafts: it fills up with time, to what one second gives. */
export interface DraftBudget {
  readonly bytes: RateBudget;
  readonly drafts: RateBudget;
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
  const bytes = spend(budget?.bytes, byteLength, nowMs, inOneSecond(maxBytesPerSecond));
  const drafts = spend(budget?.drafts, 1, nowMs, inOneSecond(maxDraftsPerSecond));
  return bytes && drafts && { bytes, drafts };
}

function inOneSecond(perSecond: number): { perSecond: number; atOnce: number } {
  return { perSecond, atOnce: perSecond };
}
