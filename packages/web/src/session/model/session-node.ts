import type { SessionNode, SessionTreeView } from "@coppice/client";

export type { SessionNode, SessionTreeView };

/** Records that say something of others and are no part of a conversation: what continues them continues what is above. */
export function isTransparent({ type }: Pick<SessionNode, "type">): boolean {
  return type === "leaf" || type === "label" || type === "session_info";
}

/** Whether people read it as a part of the conversation; settings, data of applications and unknown kinds are not. */
export function isConversation({ type }: Pick<SessionNode, "type">): boolean {
  return type === "message" || type === "compaction" || type === "branch_summary" || type === "custom_message";
}

/** The nearest entry at or above `id` that is not transparent; null: before the first one, or the way up is not here. */
export function findShownEntry(tree: SessionTreeView, id: string | null): SessionNode | null {
  // Parents of damaged sessions may form a cycle.
  for (let steps = tree.size, node = id === null ? undefined : tree.get(id); node !== undefined && steps > 0; steps--) {
    if (node.type === "leaf") node = typeof node.targetId === "string" ? tree.get(node.targetId) : undefined;
    else if (isTransparent(node)) node = node.parentId ? tree.get(node.parentId) : undefined;
    else return node;
  }
  return null;
}

/** The first message of a person in the log. */
export function findFirstMessage(tree: Pick<SessionTreeView, "nodes">): SessionNode | undefined {
  return tree.nodes().find(({ type, role }) => type === "message" && role === "user");
}

/** The entries that go on from `id` (null: the roots), transparent ones replaced by what goes on from them. */
export function shownChildren(tree: SessionTreeView, id: string | null): SessionNode[] {
  return replaceTransparent(tree, tree.children(id));
}

/** The entries, each transparent one replaced by the nearest that are not below it; no recursion, however deep. */
export function replaceTransparent(tree: SessionTreeView, nodes: SessionNode[]): SessionNode[] {
  if (!nodes.some(isTransparent)) return nodes;
  const shown: SessionNode[] = [];
  const stack = [...nodes].reverse();
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (!isTransparent(node)) shown.push(node);
    else stack.push(...tree.children(node.id).reverse());
  }
  return shown;
}
