import type { SessionNode, SessionTreeView } from "@coppice/client";

/** The path from a root to an entry. */
export interface Branch {
  /** Where it ends; null: before the first entry; undefined: the session has not been fetched yet, so there is no place. */
  readonly leafId: string | null | undefined;
  /** The root first, `leaf` records left out: they say where somebody went, and nothing of the conversation. */
  readonly nodes: readonly SessionNode[];
  /** The entry that should stand above the first of `nodes` and has not arrived; they attach by themselves when it does. */
  readonly missingParentId?: string;
  /** True: the parents form a circle, which no honest device makes; `nodes` are those of it and below, each once. */
  readonly isCircular?: true;
}

/** The branch that ends at an entry, as far as it is here. Opens nothing, and never throws. */
export function findBranch(tree: SessionTreeView, leafId: string | null | undefined): Branch {
  const nodes: SessionNode[] = [];
  let id = leafId;
  for (let steps = 0; typeof id === "string" && id !== ""; steps++) {
    const node = tree.get(id);
    if (node === undefined) return { leafId, nodes: nodes.reverse(), missingParentId: id };
    // A path cannot be longer than the tree has entries, so one that is has met an entry twice.
    if (steps === tree.size) return { leafId, nodes: [...new Set(nodes)].reverse(), isCircular: true };
    if (node.type !== "leaf") nodes.push(node);
    id = node.parentId;
  }
  return { leafId, nodes: nodes.reverse() };
}
