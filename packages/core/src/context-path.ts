/**
 * The part of a path that its context depends on. A long branch is mostly messages that the last compaction has
 * replaced, and where a payload has to be opened, opening theirs costs far more than all the rest of a context.
 */
import type { SessionEntry } from "./entries.ts";
import type { TreeNode } from "./session-tree.ts";

/** Types whose entries say something of the state, or of the rules, wherever they stand on the path. */
const STATE_TYPES: ReadonlySet<string> = new Set([
  "thinking_level_change",
  "model_change",
  "active_tools_change",
  "compaction",
]);

/** Types that show who wrote the path; one entry is enough, and there may be one per message. */
const RULE_TYPES: ReadonlySet<string> = new Set(["usage", "context_edit"]);

/**
 * The entries of a path (root first) that can have a say in its context, in order: from them `buildSessionContext`,
 * `buildContextEntries` and `detectContextRules` make the same as from the whole path. Those left out stand before what
 * the last compaction keeps; `read` is not called for them.
 */
export async function readContextPath<Node extends TreeNode>(
  path: readonly Node[],
  read: (node: Node) => SessionEntry | Promise<SessionEntry>,
): Promise<SessionEntry[]> {
  const start = await findContextStart(path, read);
  const before = path.slice(0, start);
  const stateful = new Set(before.filter((node) => STATE_TYPES.has(node.type)));
  const isReadable = async (node: Node): Promise<boolean> => (await read(node)).type === node.type;
  // What cannot be read says nothing, so the next one that can be takes its place.
  for (const node of before.filter((node) => RULE_TYPES.has(node.type) || node.role === "system")) {
    if (!(await isReadable(node))) continue;
    stateful.add(node);
    break;
  }
  // The last assistant message names the model, unless a later change does.
  for (let at = before.length - 1; at >= 0; at--) {
    const node = before[at] as Node;
    if (node.role !== "assistant" || !(await isReadable(node))) continue;
    stateful.add(node);
    break;
  }
  const entries: SessionEntry[] = [];
  for (const node of before) if (stateful.has(node)) entries.push(await read(node));
  for (const node of path.slice(start)) {
    const entry = read(node);
    entries.push(entry instanceof Promise ? await entry : entry);
  }
  return entries;
}

/** Index of the first entry that the last compaction keeps; of the compaction when it keeps none; 0 without one. */
async function findContextStart<Node extends TreeNode>(
  path: readonly Node[],
  read: (node: Node) => SessionEntry | Promise<SessionEntry>,
): Promise<number> {
  for (let at = path.length - 1; at >= 0; at--) {
    const node = path[at] as Node;
    if (node.type !== "compaction") continue;
    const entry = await read(node);
    // One whose content cannot be read is an entry of another type, and the compaction before it holds.
    if (entry.type !== "compaction") continue;
    const firstKept = path.findIndex(({ id }) => id === entry.firstKeptEntryId);
    return firstKept >= 0 && firstKept < at && !entry.retainedTail ? firstKept : at;
  }
  return 0;
}
