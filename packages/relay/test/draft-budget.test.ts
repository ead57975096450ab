import { expect, test } from "vitest";
import { type DraftBudget, spendOnDraft } from "../src/draft-budget.ts";

const limits = { maxBytesPerSecond: 1_000, maxDraftsPerSecond: 10 };

test("[RL62] drafts are passed on up to what one second gives, and again as time passes", () => {
  let budget: DraftBudget | undefined;
  for (let i = 0; i < 10; i += 1) {
    budget = spendOnDraft(budget, 50, 0, limits);
    expect(budget).toBeDefined();
  }
  expect(spendOnDraft(budget, 50, 0, limits)).toBeUndefined();
  expect(spendOnDraft(budget, 50, 99, limits)).toBeUndefined();
  budget = spendOnDraft(budget, 50, 100, limits);
  expect(budget).toBeDefined();
  // 10 drafts of 50 bytes, 100 bytes come back in 100 ms: 550 are left.
  expect(spendOnDraft(budget, 701, 200, limits)).toBeUndefined();
  expect(spendOnDraft(budget, 1_000, 60_000, limits)).toBeDefined();
  expect(spendOnDraft(budget, 1_001, 60_000, limits)).toBeUndefined();
});
