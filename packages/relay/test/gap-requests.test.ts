import { expect, test } from "vitest";
import { decideGapRequest, noGapRequests } from "../src/gap-requests.ts";

test("[RL11] a gap is asked about at once, again only when the vector has changed, and then not before the pause is over", () => {
  const first = decideGapRequest(noGapRequests, 0, 1_000, 5_000);
  if (first.kind !== "ask") throw new Error(first.kind);
  expect(decideGapRequest(first.state, 0, 1_001, 5_000)).toEqual({ kind: "wait" });
  expect(decideGapRequest(first.state, 0, 99_000, 5_000)).toEqual({ kind: "wait" });
  expect(decideGapRequest(first.state, 1, 2_500, 5_000)).toEqual({ kind: "ask later", delayMs: 3_500 });
  expect(decideGapRequest(first.state, 1, 6_000, 5_000)).toEqual({
    kind: "ask",
    state: { askedAtVersion: 1, notBeforeMs: 11_000 },
  });
});
