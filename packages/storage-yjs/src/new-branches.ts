import type { TreeNode } from "@coppice/core";

/** An entry with which a session has branched: when it came, something else went on from the same place. */
export interface NewBranch {
  readonly entryId: string;
  /** The entry both go on from, `leaf` and `label` records passed over; null: before the first entry. */
  readonly parentId: string | null;
  /** The device that wrote it. */
  readonly deviceId: string;
}

/** A node as the search sees it. */
export type BranchNode = Pick<TreeNode, "id" | "parentId" | "type"> & { readonly deviceId: string };

/** The tree, with what was added. */
export interface BranchView {
  get(id: string): BranchNode | undefined;
  /** Children in log order without `leaf` records; of null: the roots. */
  childrenOf(id: string | null): readonly BranchNode[];
}

/**
 * Finds the branches among entries that came together. Of several that go on from a place where nothing stood, the first
 * in log order is none. `leaf` and `label` records are no work and make no branch, as when a session is resumed.
 *
 * @param addedIds ids of shown entries; what waited for one of them counts as having come with it
 */
export function findNewBranches(view: BranchView, addedIds: Iterable<string>): NewBranch[] {
  const newIds = new Set<string>();
  const places = new Set<string | null>();
  const take = (node: BranchNode): void => {
    newIds.add(node.id);
    const place = findPlace(node, view);
    if (place !== undefined) places.add(place);
  };
  for (const id of addedIds) {
    const node = view.get(id);
    if (node === undefined) continue;
    if (isWork(node)) take(node);
    for (const waiting of view.childrenOf(id)) if (isWork(waiting)) take(waiting);
  }
  const branches: NewBranch[] = [];
  for (const place of places) {
    const siblings = findWorkBelow(place, view);
    const first = siblings.find(({ id }) => !newIds.has(id)) ?? siblings[0];
    for (const { id, deviceId } of siblings)
      if (newIds.has(id) && id !== first?.id) branches.push({ entryId: id, parentId: place, deviceId });
  }
  return branches;
}

const isWork = ({ type }: BranchNode): boolean => type !== "leaf" && type !== "label";

/** The work a node goes on from; undefined while it waits for that, and in a cycle of parents. */
function findPlace(node: BranchNode, view: BranchView): string | null | undefined {
  const seen = new Set<string>([node.id]);
  for (let { parentId } = node; ; ) {
    if (parentId === null || parentId === "") return null;
    const parent = view.get(parentId);
    if (parent === undefined || seen.has(parentId)) return undefined;
    if (isWork(parent)) return parentId;
    seen.add(parentId);
    parentId = parent.parentId;
  }
}

/** What goes on from a place, in log order, looked for through `label` records. */
function findWorkBelow(place: string | null, view: BranchView): BranchNode[] {
  const found: BranchNode[] = [];
  const seenLabels = new Set<string>();
  const pending = [...view.childrenOf(place)].reverse();
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (isWork(node)) found.push(node);
    else if (!seenLabels.has(node.id)) {
      seenLabels.add(node.id);
      for (const child of [...view.childrenOf(node.id)].reverse()) pending.push(child);
    }
  }
  return found;
}
