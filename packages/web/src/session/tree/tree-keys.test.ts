import { describe, expect, test } from "vitest";
import { sketchLine, sketchTree } from "../model/test-tree.ts";
import { layOutTreeRows, type TreeRow } from "../model/tree-rows.ts";
import { TreeRuns } from "../model/tree-runs.ts";
import { findByText, moveInTree } from "./tree-keys.ts";

function layOut(turns: readonly string[] = []): TreeRow[] {
  const tree = sketchTree([...sketchLine("x", 6), ["b", "x5", "user"], ["c", "x5", "user"]]);
  const runs = new TreeRuns();
  runs.update(tree);
  const cursors = { byEntryId: new Map(), atStart: [], elsewhere: [] };
  return layOutTreeRows({ tree, runs, leafId: null, cursors, folding: { turns: new Set(turns), branches: new Set() } });
}

describe("moveInTree", () => {
  test("[WB59] arrows, Home and End move, right opens what is folded and left closes it or goes out", () => {
    const rows = layOut();
    expect(rows.map(({ key }) => key)).toEqual(["x0", "…x1", "x5", "b", "c"]);
    expect(moveInTree("ArrowDown", rows, 0)).toEqual({ kind: "focus", index: 1 });
    expect(moveInTree("ArrowUp", rows, 0)).toBeUndefined();
    expect(moveInTree("End", rows, 0)).toEqual({ kind: "focus", index: 4 });
    expect(moveInTree("Home", rows, 4)).toEqual({ kind: "focus", index: 0 });
    expect(moveInTree("ArrowRight", rows, 0)).toEqual({ kind: "turn", id: "x0" });
    expect(moveInTree("ArrowRight", rows, 1)).toEqual({ kind: "turn", id: "x0" });
    expect(moveInTree("ArrowLeft", rows, 2)).toEqual({ kind: "focus", index: 0 });
    expect(moveInTree("ArrowLeft", rows, 3)).toEqual({ kind: "branch", id: "b" });
    expect(moveInTree("ArrowLeft", layOut(["x0"]), 0)).toEqual({ kind: "turn", id: "x0" });
    expect(moveInTree("x", rows, 0)).toBeUndefined();
  });

  test("[WB59] letters go to the next row that begins with them, one letter again to the one after", () => {
    const texts = ["add", undefined, "build", "add more"];
    expect(findByText(texts, 0, "a")).toBe(3);
    expect(findByText(texts, 3, "a")).toBe(0);
    expect(findByText(texts, 0, "bu")).toBe(2);
    expect(findByText(texts, 0, "z")).toBe(-1);
  });
});
