import {
  isTransparent,
  replaceTransparent,
  type SessionNode,
  type SessionTreeView,
  shownChildren,
} from "./session-node.ts";

/** A line of entries without a branch: from a root, or the first below a branch point, to the next branch point or tip. */
export interface TreeRun {
  /** Top first; at least one, `leaf`, `label` and `session_info` records left out. */
  readonly nodes: SessionNode[];
  readonly parent: TreeRun | undefined;
  /** Branch points above; several roots are branches too. */
  readonly level: number;
  /** Bit n: the line of column n, which is that of level n + 1, goes on below. From `maxGuides` on none is drawn. */
  readonly guides: number;
  /** No other branch of its branch point comes after it. */
  readonly isLast: boolean;
  /** One of several that go on from the same entry. */
  readonly isBranch: boolean;
  /** Hangs below an entry that has not arrived. */
  readonly isWaiting: boolean;
  /** Branches that go on from its last entry. */
  readonly children: TreeRun[];
  /** Entries in it and in all that hangs below. */
  total: number;
}

/** Columns of lines that are drawn at most: a bit each. */
export const maxGuides = 30;

/** Where an entry stands in the runs. */
export interface RunPlace {
  readonly run: TreeRun;
  /** Index in the run's nodes. */
  readonly at: number;
}

/**
 * The shape of a session tree as lines and branches, kept up to date as entries come: an entry that continues a line
 * is added to it, anything else lays the tree out again. Nothing here recurses.
 */
export class TreeRuns {
  /** In the order of display: each before what hangs below it, waiting ones at the end. */
  order: readonly TreeRun[] = [];
  /** Entries in the tree whose parents form a cycle, so that they hang below no root. */
  unreachable = 0;
  #places = new Map<string, RunPlace>();
  #seen: readonly SessionNode[] = [];
  #hadWaiting = false;

  /** Takes in what the tree has now. */
  update(tree: SessionTreeView): void {
    const nodes = tree.nodes();
    if (nodes === this.#seen) return;
    const before = this.#seen;
    this.#seen = nodes;
    const isLonger = before.length > 0 && before.every((node, index) => node === nodes[index]);
    if (isLonger && !this.#hadWaiting && this.#extend(tree, nodes, before.length)) return;
    this.#layOut(tree);
  }

  /** Where an entry stands; undefined for transparent and unknown ones. */
  place(id: string): RunPlace | undefined {
    return this.#places.get(id);
  }

  /** False when one of the added nodes does anything but continue a line. */
  #extend(tree: SessionTreeView, nodes: readonly SessionNode[], from: number): boolean {
    for (let index = from; index < nodes.length; index++) {
      const node = nodes[index] as SessionNode;
      if (isTransparent(node)) {
        // One that came after what continues it may have changed whose children those are.
        if (tree.children(node.id).some((child) => this.#places.has(child.id))) return false;
        if (node.parentId && !tree.has(node.parentId)) return false;
        continue;
      }
      const parent = findShownParent(tree, node);
      const place = parent === null ? undefined : this.#places.get(parent.id);
      if (place === undefined) return false;
      const { run, at } = place;
      if (run.children.length > 0 || at !== run.nodes.length - 1) return false;
      this.#places.set(node.id, { run, at: run.nodes.length });
      run.nodes.push(node);
      for (let above: TreeRun | undefined = run; above !== undefined; above = above.parent) above.total++;
    }
    return true;
  }

  #layOut(tree: SessionTreeView): void {
    const order: TreeRun[] = [];
    const places = new Map<string, RunPlace>();
    const stack: RunStart[] = [];
    const pushAll = (heads: readonly SessionNode[], parent: TreeRun | undefined, isWaiting: boolean): void => {
      for (let index = heads.length - 1; index >= 0; index--) {
        const isBranch = heads.length > 1;
        stack.push({
          head: heads[index] as SessionNode,
          parent,
          isLast: index === heads.length - 1,
          isBranch,
          isWaiting,
        });
      }
    };
    const waiting = replaceTransparent(tree, tree.waiting());
    pushAll(waiting, undefined, true);
    pushAll(shownChildren(tree, null), undefined, false);
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const { head, parent, isWaiting } = next;
      const level = (parent?.level ?? 0) + (next.isBranch ? 1 : 0);
      const run: TreeRun = {
        nodes: [],
        parent,
        level,
        guides: (parent?.guides ?? 0) | (next.isLast || level > maxGuides ? 0 : 1 << (level - 1)),
        isLast: next.isLast,
        isBranch: next.isBranch,
        isWaiting,
        children: [],
        total: 0,
      };
      order.push(run);
      parent?.children.push(run);
      for (let heads = [head]; ; ) {
        const [only] = heads;
        if (heads.length !== 1 || only === undefined) {
          pushAll(heads, run, isWaiting);
          break;
        }
        places.set(only.id, { run, at: run.nodes.length });
        run.nodes.push(only);
        heads = shownChildren(tree, only.id);
      }
    }
    for (let index = order.length - 1; index >= 0; index--) {
      const run = order[index] as TreeRun;
      run.total += run.nodes.length;
      if (run.parent !== undefined) run.parent.total += run.total;
    }
    this.order = order;
    this.#places = places;
    this.#hadWaiting = tree.waiting().length > 0;
    const shown = this.#seen.reduce((count, node) => count + (isTransparent(node) ? 0 : 1), 0);
    this.unreachable = shown - places.size;
  }
}

/** A run that has yet to be laid out. */
interface RunStart {
  readonly head: SessionNode;
  readonly parent: TreeRun | undefined;
  readonly isLast: boolean;
  readonly isBranch: boolean;
  readonly isWaiting: boolean;
}

/** The entry that `node` goes on from, by its `parentId`: what a `leaf` record stands below, not what it moved to. */
function findShownParent(tree: SessionTreeView, node: SessionNode): SessionNode | null {
  for (let steps = tree.size, { parentId } = node; parentId && steps > 0; steps--) {
    const parent = tree.get(parentId);
    if (parent === undefined) return null;
    if (!isTransparent(parent)) return parent;
    parentId = parent.parentId;
  }
  return null;
}
