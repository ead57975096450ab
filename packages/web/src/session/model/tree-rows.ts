import { isArchivedBranch } from "./archived-branches.ts";
import type { CursorMark, CursorMarks } from "./cursor-marks.ts";
import { isConversation, type SessionNode, type SessionTreeView } from "./session-node.ts";
import type { TreeRun, TreeRuns } from "./tree-runs.ts";

/** Where a row stands, drawn by the lines left of it. */
interface TreeRowPlace {
  /** Stable while the row is there. */
  readonly key: string;
  /** Branch points above; columns of lines left of the row. */
  readonly level: number;
  /** Bit n: the line of column n goes on below this row. */
  readonly guides: number;
  /** How the row joins the line of its last column: `none` goes along with it. */
  readonly joint: "none" | "branch" | "last";
  /** Of the tree's own levels, as screen readers say them; 1 and up. */
  readonly ariaLevel: number;
  /** On the branch this device stands on. */
  readonly isOnPath: boolean;
}

/** An entry of its own row. */
export interface TreeEntryRow extends TreeRowPlace {
  readonly kind: "entry";
  readonly node: SessionNode;
  readonly label: string | undefined;
  readonly cursors: readonly CursorMark[];
  /** The entry its turn begins with. */
  readonly anchorId: string;
  /** The entry its branch begins with; undefined on a line that is no branch. */
  readonly headId: string | undefined;
  /** Whether the entries up to the next row of this branch are folded away; `none`: there are none. */
  readonly turn: "none" | "folded" | "open";
  /** Whether it begins a branch, and that is drawn. */
  readonly branch: "none" | "open" | "collapsed";
  /** The branch it begins is put away. */
  readonly isArchived: boolean;
  /** Entries of a collapsed branch, this one left out. */
  readonly hidden: number;
  /** Branches that go on from it; 0 or at least 2. */
  readonly forks: number;
}

/** Entries that are folded into one row. */
export interface TreeFoldRow extends TreeRowPlace {
  readonly kind: "fold";
  /** The turn to open. */
  readonly anchorId: string;
  readonly count: number;
}

/** Something of the whole tree in a row of its own. */
export interface TreeNoteRow extends TreeRowPlace {
  readonly kind: "start" | "waiting" | "cycle" | "elsewhere";
  readonly count: number;
  readonly cursors: readonly CursorMark[];
}

/** A row of the tree. */
export type TreeRow = TreeEntryRow | TreeFoldRow | TreeNoteRow;

/** What of the tree somebody has opened or closed. */
export interface TreeFolding {
  /** Turns that are open, by the entry they begin with. */
  readonly turns: ReadonlySet<string>;
  /** Branches that are not as they would be by themselves (open, or closed when archived), by their first entry. */
  readonly branches: ReadonlySet<string>;
}

/** What the rows are made of. */
export interface TreeRowsView {
  readonly tree: SessionTreeView;
  /** Up to date with the tree. */
  readonly runs: TreeRuns;
  /** The shown entry this device stands on. */
  readonly leafId: string | null;
  readonly cursors: CursorMarks;
  readonly folding: TreeFolding;
  /** Has a row of its own in any case: what the keyboard is on. */
  readonly keptId?: string | undefined;
}

const noMarks: readonly CursorMark[] = [];
const flat = { level: 0, guides: 0, joint: "none", ariaLevel: 1, isOnPath: false } as const;

/** The tree as rows, top first (SPEC WB50-WB55). */
export function layOutTreeRows(view: TreeRowsView): TreeRow[] {
  const { runs, cursors } = view;
  const rows: TreeRow[] = [];
  const note = (kind: TreeNoteRow["kind"], count: number, marks: readonly CursorMark[]): void => {
    rows.push({ ...flat, kind, key: `:${kind}`, count, cursors: marks });
  };
  if (cursors.atStart.length > 0) note("start", 0, cursors.atStart);
  const pathLengths = measurePath(view);
  const closed = new Set<TreeRun>();
  const marks = raiseMarks(view, closed);
  let hasWaiting = false;
  for (const run of runs.order) {
    if (run.isWaiting && !hasWaiting) {
      hasWaiting = true;
      note("waiting", countWaiting(runs.order), noMarks);
    }
    if (run.parent !== undefined && closed.has(run.parent)) continue;
    new RunRows(run, view, marks, pathLengths.get(run) ?? 0, closed.has(run), rows).add();
  }
  if (runs.unreachable > 0) note("cycle", runs.unreachable, noMarks);
  if (cursors.elsewhere.length > 0) note("elsewhere", cursors.elsewhere.length, cursors.elsewhere);
  return rows;
}

function countWaiting(order: readonly TreeRun[]): number {
  return order.reduce((count, run) => count + (run.isWaiting && run.parent === undefined ? run.total : 0), 0);
}

/** How many entries of each run are on the branch that ends at the leaf. */
function measurePath({ runs, leafId }: TreeRowsView): Map<TreeRun, number> {
  const lengths = new Map<TreeRun, number>();
  const place = leafId === null ? undefined : runs.place(leafId);
  for (let run = place?.run; run !== undefined; run = run.parent)
    lengths.set(run, run === place?.run ? place.at + 1 : run.nodes.length);
  return lengths;
}

/** Fills `closed` with the runs that show their first entry alone or nothing, and gives their cursors to what is shown. */
function raiseMarks({ tree, runs, cursors, folding }: TreeRowsView, closed: Set<TreeRun>): CursorMarks["byEntryId"] {
  for (const run of runs.order) {
    const headId = run.nodes[0]?.id ?? "";
    const isClosed = run.isBranch && isArchivedBranch(tree, headId) !== folding.branches.has(headId);
    if (isClosed || (run.parent !== undefined && closed.has(run.parent))) closed.add(run);
  }
  if (closed.size === 0) return cursors.byEntryId;
  const raised = new Map<string, CursorMark[]>();
  for (const [entryId, marks] of cursors.byEntryId) {
    let shownId = entryId;
    for (let run = runs.place(entryId)?.run; run !== undefined && closed.has(run); run = run.parent)
      shownId = run.nodes[0]?.id ?? shownId;
    raised.set(shownId, [...(raised.get(shownId) ?? []), ...marks]);
  }
  return raised;
}

/** The rows of one run. */
class RunRows {
  readonly #run: TreeRun;
  readonly #view: TreeRowsView;
  readonly #marks: CursorMarks["byEntryId"];
  /** Entries of the run on the device's branch, from its first. */
  readonly #pathLength: number;
  readonly #isClosed: boolean;
  readonly #rows: TreeRow[];
  readonly #first: number;
  #isFirstRow = true;

  constructor(
    run: TreeRun,
    view: TreeRowsView,
    marks: CursorMarks["byEntryId"],
    pathLength: number,
    isClosed: boolean,
    rows: TreeRow[],
  ) {
    this.#run = run;
    this.#view = view;
    this.#marks = marks;
    this.#pathLength = pathLength;
    this.#isClosed = isClosed;
    this.#rows = rows;
    this.#first = Math.max(0, run.nodes.findIndex(isConversation));
  }

  add(): void {
    const { nodes } = this.#run;
    if (this.#isClosed) {
      this.#addEntry(this.#first, "none", nodes[this.#first]?.id ?? "");
      return;
    }
    let from = 0;
    for (let to = 1; to <= nodes.length; to++) {
      // A turn begins with what a person says.
      if (to < nodes.length && (to <= this.#first || nodes[to]?.role !== "user")) continue;
      this.#addTurn(from, to);
      from = to;
    }
  }

  #addTurn(from: number, to: number): void {
    const { nodes } = this.#run;
    const anchor = Math.max(from, from === 0 ? this.#first : 0);
    const anchorId = nodes[anchor]?.id ?? "";
    const isOpen = this.#view.folding.turns.has(anchorId);
    let last = to - 1;
    while (last > anchor && !isConversation(nodes[last] as SessionNode)) last--;
    const isKept = (at: number): boolean => at === anchor || at === last || this.#isMarked(at);
    const folds: [from: number, to: number][] = [];
    for (let at = from; at < to; at++) {
      if (isKept(at)) continue;
      const open = folds.at(-1);
      if (open?.[1] === at) open[1] = at + 1;
      else folds.push([at, at + 1]);
    }
    // One entry takes no more room than a row that says there is one.
    const hides = folds.some(([start, end]) => end - start > 1 || !isConversation(nodes[start] as SessionNode));
    for (let at = from, fold = 0; at < to; at++) {
      const [start, end] = folds[fold] ?? [to, to];
      if (at !== start || isOpen) {
        this.#addEntry(at, at === anchor && hides ? (isOpen ? "open" : "folded") : "none", anchorId);
        continue;
      }
      fold++;
      this.#addFold(start, end, anchorId);
      at = end - 1;
    }
  }

  #addFold(start: number, end: number, anchorId: string): void {
    const { nodes } = this.#run;
    let spoken = 0;
    for (let at = start; at < end; at++) if (isConversation(nodes[at] as SessionNode)) spoken++;
    // Settings alone are not worth a row.
    if (spoken === 0) return;
    if (end - start === 1) {
      this.#addEntry(start, "none", anchorId);
      return;
    }
    const key = `…${nodes[start]?.id}`;
    this.#rows.push({ kind: "fold", anchorId, count: end - start, ...this.#place(key, start, true) });
    this.#isFirstRow = false;
  }

  #addEntry(at: number, turn: TreeEntryRow["turn"], anchorId: string): void {
    const { tree } = this.#view;
    const { nodes, isBranch, children, total } = this.#run;
    const node = nodes[at] as SessionNode;
    const headId = nodes[0]?.id ?? "";
    const beginsBranch = isBranch && this.#isFirstRow;
    this.#rows.push({
      kind: "entry",
      node,
      anchorId,
      headId: isBranch ? headId : undefined,
      label: tree.label(node.id),
      cursors: this.#marks.get(this.#isClosed ? headId : node.id) ?? noMarks,
      turn,
      branch: beginsBranch ? (this.#isClosed ? "collapsed" : "open") : "none",
      isArchived: beginsBranch && isArchivedBranch(tree, headId),
      hidden: this.#isClosed ? total - 1 : 0,
      forks: at === nodes.length - 1 ? children.length : 0,
      ...this.#place(node.id, at, node.id !== anchorId),
    });
    this.#isFirstRow = false;
  }

  #place(key: string, at: number, isMember: boolean): TreeRowPlace {
    const { level, guides, isBranch, isLast } = this.#run;
    return {
      key,
      level,
      guides,
      joint: this.#isFirstRow && isBranch ? (isLast ? "last" : "branch") : "none",
      ariaLevel: 2 * level + (isMember ? 2 : 1),
      isOnPath: at < this.#pathLength,
    };
  }

  #isMarked(at: number): boolean {
    const { tree, keptId } = this.#view;
    const id = this.#run.nodes[at]?.id ?? "";
    return id === keptId || this.#marks.has(id) || tree.label(id) !== undefined;
  }
}
