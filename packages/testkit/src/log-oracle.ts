/**
 * What a log of nodes means, computed slowly and plainly from an array: the oracle for the tree index. Nothing here is
 * kept between calls, so there is nothing that could be out of date.
 */
import type { TreeNode, TreeStats } from "@coppice/core";

/** The nodes that are shown: the first of each id, in log order. */
export function shownNodes<Node extends TreeNode>(log: readonly Node[]): Node[] {
  return log.filter((node, index) => log.findIndex((other) => other.id === node.id) === index);
}

/** The path root → `id`, or the error code that asking for it gives. */
export function pathOf(log: readonly TreeNode[], id: string | null): string[] | "not_found" | "invalid_session" {
  if (id === null) return [];
  const shown = shownNodes(log);
  const path: string[] = [];
  for (let next: string | null = id; next !== null && next !== ""; ) {
    const node = shown.find((other) => other.id === next);
    if (node === undefined) return path.length === 0 ? "not_found" : "invalid_session";
    if (path.includes(node.id)) return "invalid_session";
    path.unshift(node.id);
    next = node.parentId;
  }
  return path;
}

/** Ids of the entries that hang below `id` (null: the roots), `leaf` entries being transparent. */
export function childrenOf(log: readonly TreeNode[], id: string | null): string[] {
  const shown = shownNodes(log);
  return shown.filter((node) => node.type !== "leaf" && effectiveParentId(shown, node) === id).map((node) => node.id);
}

/** Ids of the entries without children. */
export function tipsOf(log: readonly TreeNode[]): string[] {
  return shownNodes(log)
    .filter((node) => node.type !== "leaf" && childrenOf(log, node.id).length === 0)
    .map((node) => node.id);
}

/** Ids of the entries whose parent is not in the log. */
export function waitingOf(log: readonly TreeNode[]): string[] {
  const ids = new Set(log.map((node) => node.id));
  return shownNodes(log)
    .filter((node) => node.parentId !== null && node.parentId !== "" && !ids.has(node.parentId))
    .map((node) => node.id);
}

/** The shown node with the greatest rank, among those the last in the log; ranks above the number of records count as 0. */
export function lastOf<Node extends TreeNode>(
  log: readonly Node[],
  recordCount: number = log.length,
  filter: (node: Node) => boolean = () => true,
): Node | undefined {
  const rankOf = (node: Node): number => {
    const rank = node.rank ?? 0;
    return rank <= recordCount ? rank : 0;
  };
  const candidates = shownNodes(log).filter(filter);
  const greatestRank = Math.max(...candidates.map(rankOf));
  return candidates.filter((node) => rankOf(node) === greatestRank).at(-1);
}

/** The label of an entry. */
export function labelOf(log: readonly TreeNode[], id: string, recordCount: number = log.length): string | undefined {
  const last = lastOf(log, recordCount, (node) => node.type === "label" && node.targetId === id);
  return last?.label?.trim() || undefined;
}

/** The session's name. */
export function nameOf(log: readonly TreeNode[], recordCount: number = log.length): string | undefined {
  return lastOf(log, recordCount, (node) => node.type === "session_info")?.name?.trim() || undefined;
}

/** Where the leaf is after the last record of the log. */
export function leafAfter(log: readonly TreeNode[]): string | null {
  const last = log.at(-1);
  if (last === undefined) return null;
  return last.type === "leaf" ? (last.targetId ?? null) : last.id;
}

/** The counts of the log. */
export function statsOf(log: readonly TreeNode[]): TreeStats {
  const shown = shownNodes(log);
  const inTree = shown.filter((node) => node.type !== "leaf");
  const childCounts = inTree.map((node) => childrenOf(log, node.id).length);
  const lengths = inTree.map((node) => pathOf(log, node.id)).filter((path) => typeof path !== "string");
  const leafIds = new Set(shown.filter((node) => node.type === "leaf").map((node) => node.id));
  return {
    entries: shown.length,
    roots: childrenOf(log, null).length,
    forks: childCounts.filter((count) => count > 1).length,
    leaves: childCounts.filter((count) => count === 0).length,
    depth: Math.max(0, ...lengths.map((path) => path.filter((id) => !leafIds.has(id)).length)),
  };
}

/** The first ancestor that is not a `leaf` entry; undefined when the `leaf` entries above form a cycle. */
function effectiveParentId(shown: readonly TreeNode[], node: TreeNode): string | null | undefined {
  const passed = new Set<string>();
  let parentId = node.parentId;
  for (;;) {
    if (parentId === null || parentId === "") return null;
    if (passed.has(parentId)) return undefined;
    passed.add(parentId);
    const parent = shown.find((other) => other.id === parentId);
    if (parent?.type !== "leaf") return parentId;
    parentId = parent.parentId;
  }
}
