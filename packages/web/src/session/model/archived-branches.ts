import type { SessionTreeView } from "./session-node.ts";

/** What the label of an archived branch is put on: no entry has such an id, so nobody sees the label elsewhere. */
const targetPrefix = "coppice/archived-branch/";

/** The word of the label: programs that list labels show it. */
const archivedLabel = "archived";

/** What a `label` record says to put the branch that begins with `headId` away, or to take it out again (SPEC WB58). */
export function toArchiveLabel(headId: string, archived: boolean): { targetId: string; label: string | undefined } {
  return { targetId: targetPrefix + headId, label: archived ? archivedLabel : undefined };
}

/** Whether the branch that begins with this entry is put away: the last word of any device counts, as for every label. */
export function isArchivedBranch(tree: Pick<SessionTreeView, "label">, headId: string): boolean {
  return tree.label(targetPrefix + headId) !== undefined;
}

/** The entry a branch begins with, when a label record archives it or takes it out; undefined for any other target. */
export function readArchiveTarget(targetId: string | null | undefined): string | undefined {
  return targetId?.startsWith(targetPrefix) ? targetId.slice(targetPrefix.length) : undefined;
}
