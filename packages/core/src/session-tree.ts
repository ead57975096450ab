import { SessionError } from "./errors.ts";
import { insertAt } from "./insert-at.ts";

/** What the tree needs to know of an entry. Storages keep the rest (payload, position on disk) in their own node type. */
export interface TreeNode {
  readonly id: string;
  /** null or an empty string: a root. */
  readonly parentId: string | null;
  readonly type: string;
  readonly timestamp: string;
  /** Of `message`. */
  readonly role?: string | undefined;
  /** Of `leaf`, `label` and `context_edit`. */
  readonly targetId?: string | null | undefined;
  /** Of `label`; absent or blank takes the label away. */
  readonly label?: string | undefined;
  /** Of `session_info`; absent or blank clears the name. */
  readonly name?: string | undefined;
  /** Lamport number of the record. Absent: its place in the log alone decides what is last. */
  readonly rank?: number | undefined;
}

/** What became of a node that was put into the tree. */
export interface InsertResult<Node extends TreeNode> {
  /** False when an earlier record of the log has the same id: this one is kept, but not shown. */
  readonly shown: boolean;
  /** Another node of the same id: the one shown instead, or the one this node took the place of. */
  readonly duplicateOf?: Node;
}

/** Counts over the shown entries. */
export interface TreeStats {
  /** Shown entries, `leaf` entries included; the other counts leave them out. */
  readonly entries: number;
  readonly roots: number;
  /** Entries with more than one child. */
  readonly forks: number;
  /** Entries without children. */
  readonly leaves: number;
  /** Entries on the longest path that starts at a root. */
  readonly depth: number;
}

/** One for all: most inserts end so. */
const SHOWN: { readonly shown: true } = { shown: true };

interface Slot<Node> {
  readonly node: Node;
  /** Index in the log; out of date (too small) once something was inserted before, see `#firstStale`. */
  position: number;
  /** First of its id in the log. */
  shown: boolean;
  /** The shown slot of the parent; undefined for a root and while the parent has not come. A path is walked without look-ups. */
  parent: Slot<Node> | undefined;
  /**
   * Slots that name this one as parent; may hold slots no longer shown and be out of order until read. An only child
   * stands for itself: nearly every slot has one, and an array each takes as much memory as the slot.
   */
  children: Slot<Node> | Slot<Node>[] | undefined;
}

/**
 * The one index every storage shares: log order, parent and child, labels, name, what is last.
 *
 * Of several nodes with one id the first in log order is shown; all are kept. Inserts may come in any order and at
 * any place, so lists are put in order when they are read, not when they grow: an append costs O(1), an insert in the
 * middle one shift of the log.
 *
 * Downwards (`children`, `tips`, `stats`) a `leaf` entry is transparent: an entry that continues a `leaf` entry, as
 * pi-coding-agent writes after opening a file that ends in one, hangs below that entry's own parent. Upwards
 * (`pathToRoot`) every `parentId` is followed as it stands.
 */
export class SessionTree<Node extends TreeNode = TreeNode> {
  readonly #log: Slot<Node>[] = [];
  /** Slots from this index on may carry a position that is too small. */
  #firstStale = 0;
  readonly #shownById = new Map<string, Slot<Node>>();
  /** Slots that are not shown, by id. */
  readonly #hiddenById = new Map<string, Slot<Node>[]>();
  readonly #slotsByType = new Map<string, Slot<Node>[]>();
  readonly #labelsByTarget = new Map<string, Slot<Node>[]>();
  readonly #roots: Slot<Node>[] = [];
  readonly #waitingByParentId = new Map<string, Slot<Node>[]>();
  #lastShown: Slot<Node> | undefined;
  #shownNodes: readonly Node[] | undefined;
  #minimumRecordCount = 0;
  #isRanked = false;

  /**
   * Puts a node into the log. `at` is its position counted over all nodes, duplicates included, 0 to the number of
   * nodes; default the end. Throws a RangeError for any other position.
   */
  insert(node: Node, at: number = this.#log.length): InsertResult<Node> {
    const slot = createSlot(node, at);
    if (at === this.#log.length) {
      if (this.#firstStale === at) this.#firstStale++;
      this.#log.push(slot);
    } else {
      this.#openGap(at, 1);
      this.#log.splice(at, 0, slot);
    }
    return this.#index(slot);
  }

  /** Puts a run of nodes into the log, the first at `at`; shifts what follows once. Results in the order of `nodes`. */
  insertAll(nodes: readonly Node[], at: number = this.#log.length): InsertResult<Node>[] {
    if (at === this.#log.length) return nodes.map((node) => this.insert(node));
    const slots = nodes.map((node, offset) => createSlot(node, at + offset));
    this.#openGap(at, slots.length);
    insertAt(this.#log, at, slots);
    return slots.map((slot) => this.#index(slot));
  }

  /** Number of shown nodes. */
  get size(): number {
    return this.#shownById.size;
  }

  /** The shown node of an id. */
  get(id: string): Node | undefined {
    return this.#shownById.get(id)?.node;
  }

  /** Whether any node has this id. */
  has(id: string): boolean {
    return this.#shownById.has(id);
  }

  /** Every node of an id in log order; the first is the shown one. */
  nodesWithId(id: string): Node[] {
    const shown = this.#shownById.get(id);
    if (shown === undefined) return [];
    return [shown, ...this.#inLogOrder([...(this.#hiddenById.get(id) ?? [])])].map((slot) => slot.node);
  }

  /** Shown nodes in log order. The same array, frozen, until the next insert. */
  nodes(): readonly Node[] {
    if (this.#shownNodes === undefined) {
      const nodes: Node[] = [];
      for (const slot of this.#log) if (slot.shown) nodes.push(slot.node);
      this.#shownNodes = Object.freeze(nodes);
    }
    return this.#shownNodes;
  }

  /** All nodes in log order, duplicates included. */
  allNodes(): readonly Node[] {
    return this.#log.map((slot) => slot.node);
  }

  /**
   * Records in the log: at least the number of nodes. A storage that holds records it cannot read sets the larger
   * number, because they count when ranks are judged: an honest rank never exceeds it.
   */
  get recordCount(): number {
    return Math.max(this.#minimumRecordCount, this.#log.length);
  }

  set recordCount(count: number) {
    this.#minimumRecordCount = count;
  }

  /** Shown nodes of a type, in log order. */
  byType(type: string): Node[] {
    return this.#tidied(this.#slotsByType.get(type)).map((slot) => slot.node);
  }

  /** Children in log order, without `leaf` entries; null: the roots. Unknown id: those waiting for it. */
  children(id: string | null): Node[] {
    return this.#childSlots(this.#listBelow(id)).map((slot) => slot.node);
  }

  /** Entries without children, in log order, without `leaf` entries. */
  tips(): Node[] {
    const tips: Node[] = [];
    for (const slot of this.#log) {
      if (slot.shown && slot.node.type !== "leaf" && this.#childSlots(childrenOf(slot)).length === 0)
        tips.push(slot.node);
    }
    return tips;
  }

  /** Entries whose parent has not arrived, in log order. They attach by themselves when it comes. */
  waiting(): Node[] {
    const waiting: Slot<Node>[] = [];
    for (const slots of this.#waitingByParentId.values()) {
      for (const slot of slots) if (slot.shown) waiting.push(slot);
    }
    return this.#inLogOrder(waiting).map((slot) => slot.node);
  }

  /** The node above; undefined for a root. Throws `invalid_session` when the parent is not in the tree. */
  parentOf(node: Node): Node | undefined {
    const { parentId } = node;
    if (isRootParent(parentId)) return undefined;
    const parent = this.#shownById.get(parentId);
    if (parent === undefined) throw new SessionError("invalid_session", `Entry ${parentId} not found`);
    return parent.node;
  }

  /**
   * The branch that ends at `id`, root first; null: empty. Throws `not_found` for an unknown id, and
   * `invalid_session` when an ancestor is missing or the parents form a cycle.
   */
  pathToRoot(id: string | null): Node[] {
    const path: Node[] = [];
    if (id === null) return path;
    let slot = this.#shownById.get(id);
    if (slot === undefined) throw new SessionError("not_found", `Entry ${id} not found`);
    for (; slot !== undefined; slot = slot.parent) {
      // A path cannot be longer than the tree has entries, so one that is has met an entry twice.
      if (path.length === this.size) {
        throw new SessionError("invalid_session", `The ancestors of entry ${id} form a cycle`);
      }
      path.push(slot.node);
    }
    const top = path.at(-1);
    // Throws when the walk ended for want of a parent.
    if (top !== undefined) this.parentOf(top);
    return path.reverse();
  }

  /** Entries on the path to `id`, `leaf` entries left out. Throws as `pathToRoot`. */
  depth(id: string): number {
    return this.pathToRoot(id).filter((node) => node.type !== "leaf").length;
  }

  /** The label of an entry, trimmed; undefined when there is none or it was taken away. The entry need not exist. */
  label(id: string): string | undefined {
    return this.#last(this.#labelsByTarget.get(id))?.node.label?.trim() || undefined;
  }

  /** The session's name, trimmed; undefined when never given or cleared. */
  sessionName(): string | undefined {
    return this.#last(this.#slotsByType.get("session_info"))?.node.name?.trim() || undefined;
  }

  /** The last shown node that passes the filter: the one with the greatest rank, among those the last in the log. */
  lastNode(filter: (node: Node) => boolean = () => true): Node | undefined {
    if (this.#isRanked) return this.#last(this.#log, filter)?.node;
    return this.#log.findLast((slot) => slot.shown && filter(slot.node))?.node;
  }

  /** The leaf after this node was appended: its target for a `leaf` entry, the node itself for every other. */
  leafEffect(node: Node): string | null {
    return node.type === "leaf" ? (node.targetId ?? null) : node.id;
  }

  /** Counts over the shown entries; see `TreeStats`. */
  stats(): TreeStats {
    let forks = 0;
    let leaves = 0;
    for (const slot of this.#shownById.values()) {
      if (slot.node.type === "leaf") continue;
      const childCount = this.#childSlots(childrenOf(slot)).length;
      if (childCount > 1) forks++;
      if (childCount === 0) leaves++;
    }
    const roots = this.#childSlots(this.#roots);
    let depth = 0;
    // A cycle hangs below no root, so walking down ends.
    for (let level = roots; level.length > 0; depth++)
      level = level.flatMap((slot) => this.#childSlots(childrenOf(slot)));
    return { entries: this.size, roots: roots.length, forks, leaves, depth };
  }

  /** Makes positions before `at` exact and marks what follows the gap as stale. */
  #openGap(at: number, count: number): void {
    if (!Number.isInteger(at) || at < 0 || at > this.#log.length) {
      throw new RangeError(`Position ${at} is outside the log of ${this.#log.length} nodes`);
    }
    this.#renumber(at);
    this.#firstStale = at + count;
  }

  /** Makes positions below `end` exact. */
  #renumber(end: number): void {
    for (; this.#firstStale < end; this.#firstStale++) {
      const slot = this.#log[this.#firstStale];
      if (slot !== undefined) slot.position = this.#firstStale;
    }
  }

  /** Enters a slot that stands in the log: at its end, or where every slot before it has an exact position. */
  #index(slot: Slot<Node>): InsertResult<Node> {
    const { id } = slot.node;
    if ((slot.node.rank ?? 0) > 0) this.#isRanked = true;
    const previous = this.#shownById.get(id);
    if (previous === undefined) {
      const waiting = this.#waitingByParentId.size === 0 ? undefined : this.#waitingByParentId.get(id);
      if (waiting !== undefined) {
        adoptChildren(slot, waiting);
        this.#waitingByParentId.delete(id);
      }
      this.#show(slot);
      return SHOWN;
    }
    // Every slot is before the last one. Otherwise positions before the new slot are exact, so a slot that is not
    // found at its position has been shifted and stands after the new one.
    const isLast = slot.position === this.#log.length - 1;
    if (isLast || (this.#log[previous.position] === previous && previous.position < slot.position)) {
      addTo(this.#hiddenById, id, slot);
      return { shown: false, duplicateOf: previous.node };
    }
    // The old slot stays in the lists it is in; reading a list drops it.
    previous.shown = false;
    addTo(this.#hiddenById, id, previous);
    const children = childrenOf(previous);
    if (children !== undefined) adoptChildren(slot, children);
    previous.children = undefined;
    this.#show(slot);
    return { shown: true, duplicateOf: previous.node };
  }

  #show(slot: Slot<Node>): void {
    const { id, parentId, type, targetId } = slot.node;
    const before = this.#lastShown;
    this.#lastShown = slot;
    slot.shown = true;
    this.#shownNodes = undefined;
    this.#shownById.set(id, slot);
    addTo(this.#slotsByType, type, slot);
    if (type === "label" && typeof targetId === "string") addTo(this.#labelsByTarget, targetId, slot);
    if (isRootParent(parentId)) {
      this.#roots.push(slot);
      return;
    }
    // Most entries continue the one before: then nothing has to be looked up.
    const parent = before?.shown && before.node.id === parentId ? before : this.#shownById.get(parentId);
    slot.parent = parent;
    if (parent === undefined) addTo(this.#waitingByParentId, parentId, slot);
    else addChild(parent, slot);
  }

  #listBelow(id: string | null): Slot<Node>[] | undefined {
    if (isRootParent(id)) return this.#roots;
    const parent = this.#shownById.get(id);
    return parent === undefined ? this.#waitingByParentId.get(id) : childrenOf(parent);
  }

  /** A list of children as the caller sees it: shown, in log order, `leaf` entries replaced by their own children. */
  #childSlots(list: Slot<Node>[] | undefined): Slot<Node>[] {
    const tidied = this.#tidied(list);
    if (!tidied.some((slot) => slot.node.type === "leaf")) return tidied;
    const below = new Set(tidied);
    // Iterating a set visits what is added meanwhile, and each slot once: leaf entries in a cycle end too.
    for (const slot of below) {
      if (slot.node.type === "leaf") for (const child of this.#tidied(childrenOf(slot))) below.add(child);
    }
    return this.#inLogOrder([...below].filter((slot) => slot.node.type !== "leaf"));
  }

  /** Drops from a list, in place, what is no longer shown and puts the rest in log order. */
  #tidied(list: Slot<Node>[] | undefined): Slot<Node>[] {
    if (list === undefined) return [];
    if (list.some((slot) => !slot.shown)) {
      const shown = list.filter((slot) => slot.shown);
      list.length = 0;
      for (const slot of shown) list.push(slot);
    }
    return this.#inLogOrder(list);
  }

  /** Sorts a list in place, only when it is out of order. */
  #inLogOrder(list: Slot<Node>[]): Slot<Node>[] {
    if (list.length < 2) return list;
    this.#renumber(this.#log.length);
    const isSorted = list.every((slot, index) => index === 0 || (list[index - 1]?.position ?? 0) < slot.position);
    return isSorted ? list : list.sort((a, b) => a.position - b.position);
  }

  #last(slots: readonly Slot<Node>[] | undefined, filter?: (node: Node) => boolean): Slot<Node> | undefined {
    if (slots === undefined) return undefined;
    this.#renumber(this.#log.length);
    let last: Slot<Node> | undefined;
    for (const slot of slots) {
      if (!slot.shown || (filter !== undefined && !filter(slot.node))) continue;
      if (last === undefined || this.#isLater(slot, last)) last = slot;
    }
    return last;
  }

  #isLater(slot: Slot<Node>, other: Slot<Node>): boolean {
    const difference = this.#rank(slot) - this.#rank(other);
    return difference === 0 ? slot.position > other.position : difference > 0;
  }

  /** A rank greater than the number of records is a lie or a mistake; it must not win for ever. */
  #rank(slot: Slot<Node>): number {
    const rank = slot.node.rank ?? 0;
    return rank > 0 && rank <= this.recordCount ? rank : 0;
  }
}

function createSlot<Node>(node: Node, position: number): Slot<Node> {
  return { node, position, shown: false, parent: undefined, children: undefined };
}

function addChild<Node>(parent: Slot<Node>, child: Slot<Node>): void {
  const { children } = parent;
  if (children === undefined) parent.children = child;
  else if (Array.isArray(children)) children.push(child);
  else parent.children = [children, child];
}

function childrenOf<Node>({ children }: Slot<Node>): Slot<Node>[] | undefined {
  return children === undefined || Array.isArray(children) ? children : [children];
}

function adoptChildren<Node>(parent: Slot<Node>, children: Slot<Node>[]): void {
  parent.children = children;
  for (const child of children) child.parent = parent;
}

function isRootParent(parentId: string | null): parentId is null | "" {
  return parentId === null || parentId === "";
}

function addTo<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
