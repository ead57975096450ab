import { SessionTree, type TreeNode } from "@coppice/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  childrenOf,
  labelOf,
  lastOf,
  nameOf,
  pathOf,
  readSimulationSettings,
  shownNodes,
  simulationTimeoutMs,
  statsOf,
  tipsOf,
  waitingOf,
} from "../src/index.ts";

/** Few ids, so that duplicates, cycles, self-parents and parents that never come are frequent. */
const ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
const anyId = fc.constantFrom(...ids);

interface Placed {
  readonly node: TreeNode;
  /** Fraction of the log before the node; 1: at the end. */
  readonly place: number;
  /** Reads between inserts put lists in order half-way. */
  readonly readsFirst: boolean;
}

const anyNode: fc.Arbitrary<TreeNode> = fc
  .record({
    id: anyId,
    parentId: fc.oneof({ weight: 3, arbitrary: anyId }, fc.constantFrom(null, "", "never")),
    type: fc.constantFrom("message", "message", "leaf", "label", "session_info"),
    targetId: anyId,
    text: fc.constantFrom("one", " two ", "", undefined),
    rank: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }),
  })
  .map(({ text, ...fields }) => ({ ...fields, timestamp: "2026-01-01T00:00:00.000Z", label: text, name: text }));

const anyPlaced: fc.Arbitrary<Placed> = fc.record({
  node: anyNode,
  place: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
  readsFirst: fc.boolean(),
});

function positionIn(log: readonly TreeNode[], place: number): number {
  return Math.floor(place * log.length);
}

function expectSameAsOracle(tree: SessionTree, log: readonly TreeNode[], recordCount: number): void {
  const idsOf = (nodes: readonly TreeNode[]): string[] => nodes.map((node) => node.id);
  expect(tree.allNodes()).toEqual(log);
  expect(tree.nodes()).toEqual(shownNodes(log));
  expect(idsOf(tree.tips())).toEqual(tipsOf(log));
  expect(idsOf(tree.waiting())).toEqual(waitingOf(log));
  expect(tree.stats()).toEqual(statsOf(log));
  expect(tree.lastNode()).toBe(lastOf(log, recordCount));
  expect(tree.sessionName()).toBe(nameOf(log, recordCount));
  expect(idsOf(tree.children(null))).toEqual(childrenOf(log, null));
  for (const type of ["message", "leaf", "label"]) {
    expect(tree.byType(type)).toEqual(shownNodes(log).filter((node) => node.type === type));
  }
  for (const id of [...ids, "never"]) {
    expect(tree.get(id)).toBe(log.find((node) => node.id === id));
    expect(tree.nodesWithId(id)).toEqual(log.filter((node) => node.id === id));
    expect(tree.label(id)).toBe(labelOf(log, id, recordCount));
    if (tree.get(id)?.type !== "leaf") expect(idsOf(tree.children(id))).toEqual(childrenOf(log, id));
    expect(pathOrCode(tree, id)).toEqual(pathOf(log, id));
  }
}

function pathOrCode(tree: SessionTree, id: string): unknown {
  try {
    return tree.pathToRoot(id).map((node) => node.id);
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe("SessionTree against the oracle", () => {
  const settings = readSimulationSettings();
  /** A run takes a few milliseconds, so there can be more of them than of runs on a storage. */
  const numRuns = settings.numRuns * 8;
  const timeoutMs = simulationTimeoutMs({ numRuns }, 50) + 10_000;

  test(
    "[ST2] after any inserts at any places the index equals one computed from the log",
    () => {
      fc.assert(
        fc.property(fc.array(anyPlaced, { minLength: 1, maxLength: 24 }), fc.nat(8), (placed, unreadable) => {
          const tree = new SessionTree();
          const log: TreeNode[] = [];
          for (const { node, place, readsFirst } of placed) {
            const at = positionIn(log, place);
            const known = log.some((other) => other.id === node.id);
            const isFirst = !log.slice(0, at).some((other) => other.id === node.id);
            const shownBefore = tree.get(node.id);
            const result = tree.insert(node, at);
            log.splice(at, 0, node);
            expect(result).toEqual(known ? { shown: isFirst, duplicateOf: shownBefore } : { shown: true });
            if (readsFirst) expectSameAsOracle(tree, log, log.length);
          }
          expectSameAsOracle(tree, log, log.length);
          tree.recordCount = log.length + unreadable;
          expectSameAsOracle(tree, log, log.length + unreadable);
        }),
        { ...settings, numRuns },
      );
    },
    timeoutMs,
  );

  test(
    "[ST2] a run of nodes put in at once gives the same as one after another",
    () => {
      fc.assert(
        fc.property(
          fc.array(anyNode, { maxLength: 12 }),
          fc.array(anyNode, { minLength: 1, maxLength: 8 }),
          fc.double({ min: 0, max: 1, noNaN: true }),
          (before, run, place) => {
            const atOnce = new SessionTree();
            const oneByOne = new SessionTree();
            for (const tree of [atOnce, oneByOne]) tree.insertAll(before);
            const at = positionIn(before, place);
            const results = atOnce.insertAll(run, at);
            expect(results).toEqual(run.map((node, offset) => oneByOne.insert(node, at + offset)));
            expectSameAsOracle(
              atOnce,
              [...before.slice(0, at), ...run, ...before.slice(at)],
              before.length + run.length,
            );
          },
        ),
        { ...settings, numRuns },
      );
    },
    timeoutMs,
  );
});
