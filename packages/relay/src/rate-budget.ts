/** What may still be spent: it fills up with time, to a bound. */
export interface RateBudget {
  readonly left: number;
  /** When this was worked out, ms. */
  readonly atMs: number;
}

/** How fast a budget may be spent. */
export interface RateLimit {
  readonly perSecond: number;
  /** At once, by who has spent nothing for a while. */
  readonly atOnce: number;
}

/**
 * Spends an amount: the budget left, or undefined when there is not that much.
 *
 * @param budget undefined before anything was spent
 */
export function spend(
  budget: RateBudget | undefined,
  amount: number,
  nowMs: number,
  { perSecond, atOnce }: RateLimit,
): RateBudget | undefined {
  const { left, atMs } = budget ?? { left: atOnce, atMs: nowMs };
  const remaining = Math.min(atOnce, left + ((nowMs - atMs) / 1000) * perSecond) - amount;
  return remaining < 0 ? undefined : { left: remaining, atMs: nowMs };
}
