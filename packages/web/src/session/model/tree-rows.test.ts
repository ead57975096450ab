import { SessionTree } from "@coppice/core";
import { describe, expect, test } from "vitest";
import { toArchiveLabel } from "./archived-branches.ts";
import { placeCursors } from "./cursor-marks.ts";
import { findShownEntry, type SessionNode, type SessionTreeView } from "./session-node.ts";
import { type Sketch, sketchLine, sketchNode, sketchTree } from "./test-tree.ts";
import { layOutTreeRows, type TreeFolding, type TreeRow } from "./tree-rows.ts";
import { TreeRuns } from "./tree-runs.ts";

const noFolding: TreeFolding = { turns: new Set(), branches: new Set() };

interface Look {
  leafId?: string | null;
  cursors?: Record<string, string | null>;
  folding?: Partial<TreeFolding>;
  runs?: TreeRuns;
  keptId?: string;
}

function look(
  tree: SessionTreeView,
  { leafId = null, cursors = {}, folding, runs = new TreeRuns(), keptId }: Look = {},
): TreeRow[] {
  runs.update(tree);
  const list = Object.entries(cursors).map(([deviceId, place]) => ({
    deviceId,
    replicaId: deviceId,
    deviceName: deviceId,
    leafId: place,
    self: false,
    sameDevice: deviceId === "me",
  }));
  return layOutTreeRows({
    tree,
    runs,
    leafId: findShownEntry(tree, leafId)?.id ?? null,
    cursors: placeCursors(tree, list, Object.keys(cursors)),
    folding: { ...noFolding, ...folding },
    keptId,
  });
}

/** A row as a line: its lines, what it shows, who stands there. */
function draw(row: TreeRow): string {
  let start = "";
  for (let column = 0; column < row.level; column++) {
    const isOwn = column === row.level - 1;
    if (isOwn && row.joint !== "none") start += row.joint === "last" ? "└ " : "├ ";
    else start += (row.guides >> column) & 1 ? "│ " : "  ";
  }
  const path = row.isOnPath ? "*" : "";
  const people = "cursors" in row && row.cursors.length > 0 ? ` <${row.cursors.map(({ name }) => name).join()}` : "";
  if (row.kind === "fold") return `${start}(${row.count})${path}`;
  if (row.kind !== "entry") return `${start}${row.kind} ${row.count}${people}`;
  const fold = row.turn === "none" ? "" : row.turn === "open" ? "-" : "+";
  const hidden = row.branch === "collapsed" ? ` (${row.hidden} hidden)` : "";
  return `${start}${row.node.id}${fold}${path}${row.label === undefined ? "" : ` [${row.label}]`}${people}${hidden}${row.isArchived ? " archived" : ""}`;
}

const twoBranches: Sketch[] = [
  ["u1", null, "user"],
  ["a1", "u1", "assistant"],
  ["u2", "a1", "user"],
  ["a2", "u2", "assistant"],
  ["l1", "a2", "leaf", "a1"],
  ["u3", "a1", "user"],
  ["a3", "u3", "assistant"],
];

describe("layOutTreeRows", () => {
  test("[WB50] a line goes down, branches hang below their branch point in log order, the branch of the leaf is marked", () => {
    const rows = look(sketchTree(twoBranches), { leafId: "a3", cursors: { me: "a3", phone: "a2" } });
    expect(rows.map(draw)).toEqual(["u1*", "a1*", "├ u2", "│ a2 <phone", "└ u3*", "  a3* <me"]);
  });

  test("[WB50] several roots are branches of nothing, and whoever stands before the first entry is named first", () => {
    const rows = look(
      sketchTree([
        ["a", null, "user"],
        ["b", null, "user"],
      ]),
      { cursors: { me: null } },
    );
    expect(rows.map(draw)).toEqual(["start 0 <me", "├ a", "└ b"]);
  });

  test("[WB51] what an agent does between a person's message and its last answer is one row that counts it, until it is opened", () => {
    const tree = sketchTree([...sketchLine("x", 8), ["m", "x7", "model_change"], ["u", "m", "user"]]);
    expect(look(tree).map(draw)).toEqual(["x0+", "(6)", "x7", "u"]);
    const opened = look(tree, { folding: { turns: new Set(["x0"]) } });
    expect(opened.map(draw)).toEqual(["x0-", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "m", "u"]);
    expect(opened.slice(0, 2).map(({ ariaLevel }) => ariaLevel)).toEqual([1, 2]);
  });

  test("[WB51] entries with a label, a cursor or the keyboard on them keep their row; one alone is not folded", () => {
    const tree = sketchTree([...sketchLine("x", 9), ["l", "x8", "label", "x3", "here"]]);
    const rows = look(tree, { cursors: { phone: "x5" }, keptId: "x6" });
    expect(rows.map(draw)).toEqual(["x0+", "(2)", "x3 [here]", "x4", "x5 <phone", "x6", "x7", "x8"]);
    expect(look(sketchTree(sketchLine("y", 3))).map(draw)).toEqual(["y0", "y1", "y2"]);
  });

  test("[WB52] moves, labels and names are no rows: what continues them hangs above, who stands on them stands above", () => {
    const tree = sketchTree([
      ["u", null, "user"],
      ["l", "u", "label", "u", "start"],
      ["n", "l", "session_info"],
      ["a", "n", "assistant"],
      ["m", "a", "leaf", "l"],
      ["b", "l", "assistant"],
    ]);
    const rows = look(tree, { leafId: "n", cursors: { me: "n" } });
    expect(rows.map(draw)).toEqual(["u* [start] <me", "├ a", "└ b"]);
  });

  test("[WB53] entries whose parent has not come stand below the tree under a row that counts them, cycles are counted", () => {
    const rows = look(
      sketchTree([
        ["u", null, "user"],
        ["w1", "gone", "user"],
        ["w2", "w1", "assistant"],
        ["c", "c", "user"],
      ]),
      {
        cursors: { phone: "far" },
      },
    );
    expect(rows.map(draw)).toEqual(["u", "waiting 2", "w1", "w2", "cycle 1", "elsewhere 1 <phone"]);
  });

  test("[WB54] a closed branch is its first row, which counts what it hides and shows who is in it", () => {
    const tree = sketchTree(twoBranches);
    const rows = look(tree, { cursors: { phone: "a2", laptop: "a3" }, folding: { branches: new Set(["u2"]) } });
    expect(rows.map(draw)).toEqual(["u1", "a1", "├ u2 <phone (1 hidden)", "└ u3", "  a3 <laptop"]);
  });

  test("[WB58] an archived branch is closed by itself and can be opened; the last word of all devices counts", () => {
    const { targetId, label } = toArchiveLabel("u2", true);
    const archive: Sketch = ["l2", "a3", "label", targetId, label ?? ""];
    const tree = sketchTree([...twoBranches, archive]);
    expect(look(tree).map(draw)).toEqual(["u1", "a1", "├ u2 (1 hidden) archived", "└ u3", "  a3"]);
    expect(look(tree, { folding: { branches: new Set(["u2"]) } }).map(draw)[3]).toBe("│ a2");
    tree.insert(sketchNode(["l3", "l2", "label", targetId]));
    expect(look(tree).map(draw)).toEqual(["u1", "a1", "├ u2", "│ a2", "└ u3", "  a3"]);
  });

  test("[WB55] rows that are kept up to date entry by entry are those of a tree laid out anew", () => {
    const sketches: Sketch[] = [
      ...twoBranches,
      ["w", "later", "user"],
      ["later", "a3", "user"],
      ["x", "w", "assistant"],
      ["y", "a2", "odd"],
      ["n", "y", "label", "y", "odd one"],
      ["z", "n", "assistant"],
      ["r", null, "user"],
    ];
    const tree = new SessionTree<SessionNode>();
    const runs = new TreeRuns();
    for (const [index, sketch] of sketches.entries()) {
      // Some come into the middle of the log, as from a device that was offline.
      tree.insert(sketchNode(sketch), index % 4 === 3 ? index - 1 : index);
      expect(look(tree, { runs, leafId: "a3" }).map(draw)).toEqual(look(tree, { leafId: "a3" }).map(draw));
    }
  });

  test("[WB55] 10,000 entries in one line, in branches of branches or side by side are laid out without recursion", () => {
    const line = sketchTree(sketchLine("x", 10_000));
    const runs = new TreeRuns();
    expect(look(line, { runs })).toHaveLength(3);
    line.insert(sketchNode(["new", "x9999", "assistant"]));
    expect(look(line, { runs }).at(-1)).toMatchObject({ node: { id: "new" } });
    expect(runs.order).toHaveLength(1);

    const comb: Sketch[] = [["c0", null, "user"]];
    for (let index = 1; index < 5_000; index++)
      comb.push([`d${index}`, `c${index - 1}`, "user"], [`c${index}`, `c${index - 1}`, "user"]);
    const rows = look(sketchTree(comb));
    expect(rows).toHaveLength(9_999);
    expect(rows.at(-1)?.level).toBe(4_999);

    const fan = Array.from({ length: 10_000 }, (_, index): Sketch => [`f${index}`, index === 0 ? null : "f0", "user"]);
    expect(look(sketchTree(fan))).toHaveLength(10_000);
  });
});
