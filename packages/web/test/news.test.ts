import type { BranchEvent } from "@coppice/client";
import { describe, expect, it } from "vitest";
import { describeLoss } from "../src/devices/describe-loss.ts";
import { describeBranches, groupBranches } from "../src/status/branch-announcements.ts";

const branch: BranchEvent = {
  kind: "branch",
  sessionId: "s",
  entryId: "e1",
  parentId: null,
  deviceId: "d",
  deviceName: "laptop",
};

describe("what is said", () => {
  it("[WB14] branches of one device in one session are one piece of news", () => {
    const { deviceName: _, ...unnamed } = { ...branch, deviceId: "other" };
    const news = groupBranches([branch, { ...branch, entryId: "e2" }, unnamed]);
    expect(news.map((one) => [one.entryId, describeBranches(one, "Login")])).toEqual([
      ["e2", "laptop added 2 branches to “Login”."],
      ["e1", "Another device added a branch to “Login”."],
    ]);
    expect(news.slice(0, 1).map((one) => describeBranches(one, undefined))).toEqual(["laptop added 2 branches."]);
  });

  it.each([
    [0, 0, true, undefined],
    [1, 0, true, "1 entry has not reached the relay, and would be lost."],
    [1200, 2, true, "1,200 entries have not reached the relay, and would be lost."],
    [0, 1, true, "A session may have entries that have not reached the relay, which would be lost."],
    [0, 2, true, "2 sessions may have entries that have not reached the relay, which would be lost."],
    [0, 0, false, "This workspace has no relay: what is in this browser may be nowhere else, and is lost."],
  ])(
    "[WB4] with %d unsent, %d sessions marked and a relay: %s, leaving loses %j",
    (unsent, unsentSessions, hasRelay, loss) => {
      expect(describeLoss({ unsent, unsentSessions, hasRelay })).toBe(loss);
    },
  );
});
