import {
  findShownEntry,
  isTransparent,
  type SessionNode,
  type SessionTreeView,
  shownChildren,
} from "./session-node.ts";

/**
 * The end of the branch to show when somebody looks at `id`: the end of the device's own branch when that goes through
 * it, else the entry that came last in the log of those below, at each branch point.
 */
export function findBranchEnd(tree: SessionTreeView, id: string, leafId: string | null): string {
  const own = findShownEntry(tree, leafId);
  if (own !== null && isOnBranch(tree, id, own.id)) return own.id;
  const lastPosition = measureLastPositions(tree, id);
  let end = id;
  for (let children = shownChildren(tree, end); children.length > 0; children = shownChildren(tree, end)) {
    let next = children[0] as SessionNode;
    for (const child of children)
      if ((lastPosition.get(child.id) ?? 0) >= (lastPosition.get(next.id) ?? 0)) next = child;
    end = next.id;
  }
  return end;
}

/** Whether the branch that ends at `leafId` goes through `id`. */
export function isOnBranch(tree: SessionTreeView, id: string, leafId: string | null): boolean {
  let node = leafId === null ? undefined : tree.get(leafId);
  for (let steps = tree.size; node !== undefined && steps > 0; steps--) {
    if (node.id === id) return true;
    node = node.parentId ? tree.get(node.parentId) : undefined;
  }
  return false;
}

/** For every entry at or below `id`: the greatest place in the log of what hangs below it. */
function measureLastPositions(tree: SessionTreeView, id: string): Map<string, number> {
  const positions = new Map(tree.nodes().map((node, index) => [node.id, index]));
  const below: SessionNode[] = [];
  const stack = shownChildren(tree, id);
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    below.push(node);
    stack.push(...shownChildren(tree, node.id));
  }
  const last = new Map<string, number>();
  for (const node of below.reverse()) {
    let position = positions.get(node.id) ?? 0;
    for (const child of shownChildren(tree, node.id)) position = Math.max(position, last.get(child.id) ?? 0);
    last.set(node.id, position);
  }
  return last;
}

/** Two branches and where they part. */
export interface BranchComparison {
  /** The last entry both have; undefined: they have none in common. */
  readonly ancestor: SessionNode | undefined;
  /** Entries both have. */
  readonly shared: number;
  /** What only the first has, top first. */
  readonly left: readonly SessionNode[];
  /** What only the second has, top first. */
  readonly right: readonly SessionNode[];
}

/**
 * Compares the branches that end at two entries, records that only say something of others left out. Throws as
 * `pathToRoot` for one whose way up is not here.
 */
export function compareBranches(tree: SessionTreeView, leftId: string, rightId: string): BranchComparison {
  const left = tree.pathToRoot(leftId).filter((node) => !isTransparent(node));
  const right = tree.pathToRoot(rightId).filter((node) => !isTransparent(node));
  let shared = 0;
  while (shared < left.length && left[shared] === right[shared]) shared++;
  return { ancestor: left[shared - 1], shared, left: left.slice(shared), right: right.slice(shared) };
}

/**
 * The branch of the entry that this device stands on, left, and the one that goes through another entry, right. Undefined:
 * there is no own place, or the way up of one of them is not here.
 */
export function compareWithOwn(
  tree: SessionTreeView,
  leafId: string | null,
  otherId: string,
): BranchComparison | undefined {
  const own = findShownEntry(tree, leafId);
  const end = tree.has(otherId) ? findBranchEnd(tree, otherId, leafId) : undefined;
  if (own === null || end === undefined || !reachesRoot(tree, own.id) || !reachesRoot(tree, end)) return undefined;
  return compareBranches(tree, own.id, end);
}

/** Whether the whole way up from an entry is here. */
function reachesRoot(tree: SessionTreeView, id: string): boolean {
  let node = tree.get(id);
  for (let steps = tree.size; node !== undefined && steps > 0; steps--) {
    if (!node.parentId) return true;
    node = tree.get(node.parentId);
  }
  return false;
}
