import { describe, expect, test } from "vitest";
import { type Sketch, sketchNode } from "./test-tree.ts";
import { findItemOf, layOutTranscript } from "./transcript-items.ts";

const sketches: Sketch[] = [
  ["m1", null, "model_change"],
  ["m2", "m1", "thinking_level_change"],
  ["u1", "m2", "user"],
  ["a1", "u1", "assistant"],
  ["t1", "a1", "toolResult"],
  ["m3", "t1", "model_change"],
  ["t2", "m3", "toolResult"],
  ["l1", "t2", "label", "u1", "x"],
  ["b1", "l1", "bashExecution"],
  ["t3", "b1", "toolResult"],
  ["c1", "t3", "compaction"],
  ["s1", "c1", "branch_summary"],
  ["o1", "s1", "odd"],
  ["p1", "o1", "pirate"],
];
const nodes = sketches.map(sketchNode);

describe("layOutTranscript", () => {
  test("[WB60] results go with the message that called them, settings are one item, and unknown types are kept", () => {
    const items = layOutTranscript(nodes);
    expect(items.map(({ kind, id, moreIds }) => [kind, id, ...moreIds].join(" "))).toEqual([
      "marks m1 m1 m2",
      "user u1",
      "assistant a1 t1 t2",
      "marks m3 m3",
      "bash b1",
      "tool-result t3",
      "compaction c1",
      "branch-summary s1",
      "unknown o1",
      "role p1",
    ]);
    expect(findItemOf(items, "t2")).toBe(2);
    expect(findItemOf(items, "l1")).toBe(-1);
  });

  test("[WB60] items that have not changed stay the same objects when the branch grows", () => {
    const before = layOutTranscript(nodes.slice(0, 6));
    const after = layOutTranscript(nodes, before);
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toBe(before[1]);
    expect(after[2]).not.toBe(before[2]);
    expect(layOutTranscript(nodes, after).every((item, index) => item === after[index])).toBe(true);
  });
});
