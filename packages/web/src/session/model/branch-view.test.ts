import { describe, expect, test } from "vitest";
import { compareBranches, compareWithOwn, findBranchEnd, isOnBranch } from "./branch-view.ts";
import { layOutLog } from "./log-lines.ts";
import { type Sketch, sketchLine, sketchTree } from "./test-tree.ts";

const forked: Sketch[] = [
  ...sketchLine("x", 4),
  ...sketchLine("y", 3, "x1"),
  ["m", "y2", "leaf", "x3"],
  ["l", "x3", "label", "y0", "other way"],
];
const tree = sketchTree(forked);

describe("the branch that is shown", () => {
  test("[WB61] looking at an entry shows the device's own branch where it goes through it, else the one that grew last", () => {
    expect(findBranchEnd(tree, "x0", "x3")).toBe("x3");
    expect(findBranchEnd(tree, "x0", null)).toBe("y2");
    expect(findBranchEnd(tree, "y0", "l")).toBe("y2");
    expect(isOnBranch(tree, "x2", "l")).toBe(true);
    expect(isOnBranch(tree, "y0", "l")).toBe(false);
  });

  test("[WB62] two branches are compared from their last common entry, records about others left out", () => {
    const { ancestor, shared, left, right } = compareBranches(tree, "l", "y2");
    expect(ancestor?.id).toBe("x1");
    expect(shared).toBe(2);
    expect(left.map(({ id }) => id)).toEqual(["x2", "x3"]);
    expect(right.map(({ id }) => id)).toEqual(["y0", "y1", "y2"]);
    expect(compareBranches(tree, "x3", "x3")).toMatchObject({ shared: 4, left: [], right: [] });
    const apart = sketchTree([...sketchLine("x", 2), ...sketchLine("z", 2)]);
    expect(compareBranches(apart, "x1", "z1")).toMatchObject({ ancestor: undefined, shared: 0 });
    expect(() => compareBranches(sketchTree([["w", "gone", "user"]]), "w", "w")).toThrow("gone");
  });

  test("[WB62] the own branch is compared with the one through an entry; not while a part of either is missing", () => {
    const compared = compareWithOwn(tree, "l", "y0");
    expect(compared?.ancestor?.id).toBe("x1");
    expect(compared?.right.map(({ id }) => id)).toEqual(["y0", "y1", "y2"]);
    expect(compareWithOwn(tree, null, "y0")).toBeUndefined();
    expect(compareWithOwn(tree, "x3", "unknown")).toBeUndefined();
    const torn = sketchTree([...sketchLine("x", 2), ["w", "gone", "user"], ["a", "b", "user"], ["b", "a", "user"]]);
    expect(compareWithOwn(torn, "x1", "w")).toBeUndefined();
  });
});

describe("layOutLog", () => {
  test("[WB63] the log has a line for every entry, in log order, moves and labels with what they are about", () => {
    const lines = layOutLog(tree.nodes(), (timestamp) => timestamp.slice(0, 10));
    expect(lines.map(({ position, node, targetId }) => [position, node.id, targetId])).toEqual([
      ...["x0", "x1", "x2", "x3", "y0", "y1", "y2"].map((id, index) => [index + 1, id, undefined]),
      [8, "m", "x3"],
      [9, "l", "y0"],
    ]);
    expect(lines.filter(({ beginsDay }) => beginsDay)).toHaveLength(1);
  });
});
