import { describe, expect, test } from "vitest";
import { SessionTree, type TreeNode } from "../src/index.ts";

function node(id: string, parentId: string | null, fields: Partial<TreeNode> = {}): TreeNode {
  return { id, parentId, type: "message", timestamp: "2026-01-01T00:00:00.000Z", ...fields };
}

function idsOf(nodes: readonly TreeNode[]): string[] {
  return nodes.map((each) => each.id);
}

describe("SessionTree", () => {
  test("[ST1] of two nodes with one id the first in the log is shown; an earlier one that comes later takes its place", () => {
    const tree = new SessionTree();
    const late = node("a", null);
    const early = node("a", "r");
    tree.insertAll([node("r", null), late, node("b", "a")]);
    expect(tree.insert(node("a", null))).toEqual({ shown: false, duplicateOf: late });
    expect(tree.insert(early, 1)).toEqual({ shown: true, duplicateOf: late });
    expect(tree.get("a")).toBe(early);
    expect(tree.nodesWithId("a")).toHaveLength(3);
    expect(tree.nodesWithId("a")[0]).toBe(early);
    expect(idsOf(tree.nodes())).toEqual(["r", "a", "b"]);
    expect(tree.allNodes()).toHaveLength(5);
    expect(idsOf(tree.pathToRoot("b"))).toEqual(["r", "a", "b"]);
    expect(idsOf(tree.children(null))).toEqual(["r"]);
    expect(tree.byType("message")).toHaveLength(3);
  });

  test("[ST2] a position outside the log is a mistake of the caller", () => {
    const tree = new SessionTree();
    tree.insert(node("a", null));
    for (const at of [-1, 2, 0.5]) expect(() => tree.insert(node("b", null), at)).toThrow(RangeError);
    expect(() => tree.insertAll([node("b", null)], 5)).toThrow(RangeError);
    expect(idsOf(tree.nodes())).toEqual(["a"]);
  });

  test("[ST3] a node whose parent is missing waits and attaches when it comes, wherever it comes", () => {
    const tree = new SessionTree();
    tree.insertAll([node("c", "b"), node("d", "b"), node("a", null)]);
    expect(idsOf(tree.waiting())).toEqual(["c", "d"]);
    expect(idsOf(tree.children(null))).toEqual(["a"]);
    tree.insert(node("b", "a"), 1);
    expect(tree.waiting()).toEqual([]);
    expect(idsOf(tree.children("b"))).toEqual(["c", "d"]);
    expect(idsOf(tree.pathToRoot("d"))).toEqual(["a", "b", "d"]);
  });

  test("[ST5] a path of 100,000 entries and a tree that deep are walked without recursion", () => {
    const count = 100_000;
    const tree = new SessionTree();
    for (let index = 0; index < count; index++) tree.insert(node(`n${index}`, index === 0 ? null : `n${index - 1}`));
    const path = tree.pathToRoot(`n${count - 1}`);
    expect([path.length, path[0]?.id, path.at(-1)?.id]).toEqual([count, "n0", `n${count - 1}`]);
    expect(tree.stats()).toEqual({ entries: count, roots: 1, forks: 0, leaves: 1, depth: count });
    expect(tree.depth(`n${count - 1}`)).toBe(count);
  });

  test("[ST6] leaf entries in a cycle, as their own parents or under missing ones end every walk", () => {
    const tree = new SessionTree();
    const leaf = { type: "leaf", targetId: "a" };
    tree.insertAll([node("x", "y", leaf), node("y", "x", leaf), node("z", "z", leaf), node("w", "never", leaf)]);
    tree.insertAll([node("under-x", "x"), node("under-w", "w"), node("a", null)]);
    expect(idsOf(tree.children("x"))).toEqual(["under-x"]);
    expect(idsOf(tree.children("never"))).toEqual(["under-w"]);
    expect(idsOf(tree.tips())).toEqual(["under-x", "under-w", "a"]);
    expect(tree.stats()).toEqual({ entries: 7, roots: 1, forks: 0, leaves: 3, depth: 1 });
    expect(tree.depth("a")).toBe(1);
  });

  test("[ST7] the greatest rank decides what is last, then the place in the log; a rank nobody could have counts as 0", () => {
    const tree = new SessionTree();
    const label = (id: string, text: string, rank: number): TreeNode =>
      node(id, null, { type: "label", targetId: "t", label: text, rank });
    tree.insertAll([label("l1", "ranked", 3), label("l2", "later in the log", 2), label("l3", "a lie", 1_000)]);
    expect(tree.label("t")).toBe("ranked");
    expect(tree.lastNode()?.id).toBe("l1");
    tree.insert(label("l4", "same rank, later", 3));
    expect(tree.label("t")).toBe("same rank, later");
    // Records that cannot be read count too: with so many, the rank is possible.
    tree.recordCount = 1_000;
    expect(tree.label("t")).toBe("a lie");
    expect(tree.lastNode((each) => each.id !== "l3")?.id).toBe("l4");
    expect(tree.recordCount).toBe(1_000);
  });

  test("[ST8] counts leave leaf entries out, except that they are entries", () => {
    const tree = new SessionTree();
    expect(tree.stats()).toEqual({ entries: 0, roots: 0, forks: 0, leaves: 0, depth: 0 });
    tree.insertAll([node("a", null), node("b", "a"), node("c", "a"), node("d", "c"), node("r", null)]);
    tree.insert(node("f", "d", { type: "leaf", targetId: "a" }));
    tree.insert(node("g", "f"));
    expect(tree.stats()).toEqual({ entries: 7, roots: 2, forks: 1, leaves: 3, depth: 4 });
    expect(tree.depth("g")).toBe(4);
    expect(idsOf(tree.pathToRoot("g"))).toEqual(["a", "c", "d", "f", "g"]);
  });

  test("[ST11] the effect of a leaf entry is its target, of any other node itself", () => {
    const tree = new SessionTree();
    expect(tree.leafEffect(node("a", null))).toBe("a");
    expect(tree.leafEffect(node("f", "a", { type: "leaf", targetId: "t" }))).toBe("t");
    expect(tree.leafEffect(node("f", "a", { type: "leaf", targetId: null }))).toBeNull();
    expect(tree.leafEffect(node("l", "a", { type: "label", targetId: "t" }))).toBe("l");
  });
});
