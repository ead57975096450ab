import { describe, expect, test } from "vitest";
import { type BranchNode, type BranchView, findNewBranches } from "../src/new-branches.ts";

type Fact = readonly [id: string, parentId: string | null, deviceId: string, type?: string];

/** A view of plain facts in log order. */
function viewOf(facts: readonly Fact[]): BranchView {
  const nodes = facts.map(
    ([id, parentId, deviceId, type = "message"]): BranchNode => ({ id, parentId, deviceId, type }),
  );
  const above = (node: BranchNode): string | null => {
    // `leaf` records are transparent downwards, as in the tree.
    let { parentId } = node;
    for (let parent = nodes.find(({ id }) => id === parentId); parent?.type === "leaf"; ) {
      parentId = parent.parentId;
      parent = nodes.find(({ id }) => id === parentId);
    }
    return parentId;
  };
  return {
    get: (id) => nodes.find((node) => node.id === id),
    childrenOf: (id) => nodes.filter((node) => node.type !== "leaf" && above(node) === id),
  };
}

const trunk: Fact[] = [
  ["a", null, "me"],
  ["b", "a", "me"],
];

describe("findNewBranches", () => {
  test.each<[string, Fact[], string[], string[]]>([
    ["an entry at the tip", [...trunk, ["c", "b", "phone"]], ["c"], []],
    ["an entry beside another", [...trunk, ["c", "a", "phone"]], ["c"], ["c below a by phone"]],
    ["one that sorts before what was there", [["r", null, "phone"], ...trunk], ["r"], ["r below null by phone"]],
    [
      "two that come together beside one",
      [...trunk, ["c", "a", "phone"], ["d", "a", "tablet"]],
      ["c", "d"],
      ["c below a by phone", "d below a by tablet"],
    ],
    [
      "two that come together to a place where nothing stood",
      [...trunk, ["c", "b", "phone"], ["d", "b", "tablet"]],
      ["d", "c"],
      ["d below b by tablet"],
    ],
    [
      "a line of entries, of which the first branches off",
      [...trunk, ["c", "a", "phone"], ["d", "c", "phone"]],
      ["c", "d"],
      ["c below a by phone"],
    ],
    ["labels and moves", [...trunk, ["c", "a", "phone", "label"], ["d", "a", "phone", "leaf"]], ["c", "d"], []],
    ["an entry beside a label", [...trunk, ["l", "b", "me", "label"], ["c", "b", "phone"]], ["c"], []],
    [
      "an entry below another's label",
      [...trunk, ["l", "a", "phone", "label"], ["c", "l", "phone"]],
      ["c"],
      ["c below a by phone"],
    ],
    [
      "an entry below a move",
      [...trunk, ["l", "a", "phone", "leaf"], ["c", "l", "phone"]],
      ["c"],
      ["c below a by phone"],
    ],
    [
      "entries that waited for one that comes",
      [...trunk, ["p", "b", "phone"], ["x", "p", "phone"], ["y", "p", "tablet"]],
      ["p"],
      ["y below p by tablet"],
    ],
    ["an entry whose parent has not come", [...trunk, ["c", "gone", "phone"]], ["c"], []],
    [
      "parents in a circle",
      [
        ["x", "y", "phone", "label"],
        ["y", "x", "phone", "label"],
        ["c", "x", "phone"],
      ],
      ["x", "y", "c"],
      [],
    ],
    ["an id that is not there", trunk, ["nothing"], []],
  ])("[YS130] %s", (_name, facts, added, expected) => {
    const found = findNewBranches(viewOf(facts), added);
    expect(found.map(({ entryId, parentId, deviceId }) => `${entryId} below ${parentId} by ${deviceId}`)).toEqual(
      expected,
    );
  });

  test("[YS130] a chain of 100,000 labels is walked without a call for each", () => {
    const children = new Map<string | null, BranchNode[]>();
    const byId = new Map<string, BranchNode>();
    const add = (node: BranchNode): void => {
      byId.set(node.id, node);
      children.set(node.parentId, [...(children.get(node.parentId) ?? []), node]);
    };
    add({ id: "0", parentId: null, type: "message", deviceId: "me" });
    for (let i = 1; i <= 100_000; i += 1)
      add({ id: `${i}`, parentId: `${i - 1}`, type: i === 100_000 ? "message" : "label", deviceId: "me" });
    add({ id: "branch", parentId: "0", type: "message", deviceId: "phone" });
    const view = { get: (id: string) => byId.get(id), childrenOf: (id: string | null) => children.get(id) ?? [] };
    expect(findNewBranches(view, ["branch"])).toEqual([{ entryId: "branch", parentId: "0", deviceId: "phone" }]);
  });
});
