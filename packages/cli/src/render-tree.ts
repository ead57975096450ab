import { type SessionEntry, SessionTree } from "@coppice/core";
import { describeEntry, isConversationEntry } from "./entry-line.ts";
import { cutToColumns, measureColumns, toPrintableLine } from "./terminal-text.ts";

/** Where somebody stands in the tree. */
export interface TreeCursor {
  /** Name to show, usually the device's. */
  readonly name: string;
  /** null: before the first entry. */
  readonly leafId: string | null;
}

/** What the picture of a tree is made of. */
export interface TreePicture {
  /** In log order. */
  readonly entries: readonly SessionEntry[];
  readonly labelByEntryId: ReadonlyMap<string, string>;
  readonly cursors: readonly TreeCursor[];
}

/** How a tree is drawn. */
export interface RenderTreeOptions {
  /** Width of a line in terminal columns. */
  readonly columns: number;
  /** Lines kept at each end of a linear run; the rest of a longer run becomes one line that counts it. Absent: all. */
  readonly fold?: number | undefined;
  /** Paints the names of cursors; absent: plain text. */
  readonly paintCursor?: ((text: string) => string) | undefined;
}

interface Row {
  readonly prefix: string;
  /** What stands left of the text on lines below the row, when one has to be put in. */
  readonly prefixBelow: string;
  readonly entry: SessionEntry;
  /** Rows of one linear run have the same number. */
  readonly run: number;
}

const minTextColumns = 16;
const badgeGap = 2;

/**
 * Draws a session tree from its roots to its tips, one line per entry of the conversation: linear runs downwards,
 * branches with `├─` and `└─` in log order. Entries of other kinds get a line only where a cursor or a label is on
 * them. Entries whose parent has not arrived stand below, under a line that says so (SPEC CP20-CP23).
 */
export function renderTree(picture: TreePicture, options: RenderTreeOptions): string[] {
  const tree = new SessionTree<SessionEntry>();
  tree.insertAll(picture.entries);
  const cursorNamesByEntryId = groupCursorNames(picture.cursors);
  const isMarked = (entry: SessionEntry): boolean =>
    cursorNamesByEntryId.has(entry.id) || picture.labelByEntryId.has(entry.id);
  const isShown = (entry: SessionEntry): boolean => isConversationEntry(entry) || isMarked(entry);
  let reachedCount = 0;
  const countReached = (entries: SessionEntry[]): SessionEntry[] => {
    reachedCount += entries.length;
    return entries;
  };

  const lines: string[] = [];
  const renderBelow = (roots: SessionEntry[]): void => {
    const rows = layOutRows(countReached(roots), (entry) => countReached(tree.children(entry.id)), isShown);
    const folded = options.fold === undefined ? rows : foldRuns(rows, options.fold, (row) => isMarked(row.entry));
    for (const row of folded) lines.push(typeof row === "string" ? row : renderRow(row));
  };
  const renderRow = ({ prefix, entry }: Row): string => {
    const { mark, text } = describeEntry(entry);
    const start = `${prefix}${mark}  `;
    const label = picture.labelByEntryId.get(entry.id);
    const end = label === undefined ? "" : ` [${toPrintableLine(label)}]`;
    const badge = formatBadge(cursorNamesByEntryId.get(entry.id));
    const taken = measureColumns(start + end) + (badge === "" ? 0 : measureColumns(badge) + badgeGap);
    const body = start + cutToColumns(text, Math.max(minTextColumns, options.columns - taken)) + end;
    if (badge === "") return body;
    // Badges stand in a column of their own where there is room for it.
    const gap = badgeColumn(options.columns) - measureColumns(body);
    const fits = gap > badgeGap && measureColumns(body) + gap + measureColumns(badge) <= options.columns;
    return body + " ".repeat(fits ? gap : badgeGap) + paint(badge);
  };
  const paint = options.paintCursor ?? String;

  const startBadge = formatBadge(cursorNamesByEntryId.get(null));
  if (startBadge !== "") lines.push(`·  (before the first entry)${" ".repeat(badgeGap)}${paint(startBadge)}`);
  renderBelow(tree.children(null));
  // A waiting move has no line of its own; what continues it waits in its place.
  const waiting = tree.waiting().flatMap((entry) => (entry.type === "leaf" ? tree.children(entry.id) : [entry]));
  if (waiting.length > 0) {
    lines.push(`waiting for an entry that has not arrived (${waiting.length}):`);
    renderBelow(waiting);
  }
  const unreachable = picture.entries.filter((entry) => entry.type !== "leaf").length - reachedCount;
  if (unreachable > 0) lines.push(`not shown: ${unreachable} whose parents form a cycle`);
  for (const [entryId, names] of cursorNamesByEntryId) {
    if (entryId !== null && !tree.has(entryId))
      lines.push(`on an entry that has not arrived: ${paint(formatBadge(names))}`);
  }
  return lines;
}

/** Puts entries into lines by depth first, in child order, without recursion: a branch may be 100,000 entries deep. */
function layOutRows(
  roots: readonly SessionEntry[],
  childrenOf: (entry: SessionEntry) => SessionEntry[],
  isShown: (entry: SessionEntry) => boolean,
): Row[] {
  const rows: Row[] = [];
  let runCount = 0;
  // The next row to lay out is at the end.
  const stack: Row[] = [];
  const pushAll = (entries: readonly SessionEntry[], prefix: string, run: number): void => {
    const [only] = entries;
    if (entries.length === 1 && only !== undefined) {
      stack.push({ prefix, prefixBelow: prefix, entry: only, run });
      return;
    }
    for (const [index, entry] of [...entries.entries()].reverse()) {
      const isLast = index === entries.length - 1;
      const corner = isLast ? "└─ " : "├─ ";
      runCount += 1;
      stack.push({ prefix: prefix + corner, prefixBelow: prefix + (isLast ? "   " : "│  "), entry, run: runCount });
    }
  };
  pushAll(replaceHidden(roots, childrenOf, isShown), "", 0);
  for (let row = stack.pop(); row !== undefined; row = stack.pop()) {
    rows.push(row);
    pushAll(replaceHidden(childrenOf(row.entry), childrenOf, isShown), row.prefixBelow, row.run);
  }
  return rows;
}

/** The entries, each that is not shown replaced by the nearest shown ones below it. */
function replaceHidden(
  entries: readonly SessionEntry[],
  childrenOf: (entry: SessionEntry) => SessionEntry[],
  isShown: (entry: SessionEntry) => boolean,
): SessionEntry[] {
  const shown: SessionEntry[] = [];
  const stack = [...entries].reverse();
  for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
    if (isShown(entry)) shown.push(entry);
    else stack.push(...childrenOf(entry).reverse());
  }
  return shown;
}

/** Replaces the middle of every linear run by a line that counts it; rows that `keep` names stay. */
function foldRuns(rows: readonly Row[], fold: number, keep: (row: Row) => boolean): (Row | string)[] {
  return groupRuns(rows).flatMap((run) => {
    const folded: (Row | string)[] = [];
    let hidden: Row[] = [];
    const flush = (): void => {
      const [first] = hidden;
      // A line that says "1 more" would take the place of the line it hides.
      if (first !== undefined && hidden.length > 1) folded.push(`${first.prefixBelow}⋮  ${hidden.length} more`);
      else folded.push(...hidden);
      hidden = [];
    };
    for (const [index, row] of run.entries()) {
      if (index < fold || run.length - index <= fold || keep(row)) {
        flush();
        folded.push(row);
      } else {
        hidden.push(row);
      }
    }
    flush();
    return folded;
  });
}

/** The rows of one linear run follow each other, so a new number starts a new run. */
function groupRuns(rows: readonly Row[]): Row[][] {
  const runs: Row[][] = [];
  for (const row of rows) {
    const run = runs.at(-1);
    if (run?.[0]?.run === row.run) run.push(row);
    else runs.push([row]);
  }
  return runs;
}

function groupCursorNames(cursors: readonly TreeCursor[]): Map<string | null, string[]> {
  const namesByEntryId = new Map<string | null, string[]>();
  for (const { leafId, name } of cursors) {
    const names = namesByEntryId.get(leafId) ?? [];
    // Several processes of one device on one entry are one mark.
    if (!names.includes(toPrintableLine(name))) names.push(toPrintableLine(name));
    namesByEntryId.set(leafId, names);
  }
  return namesByEntryId;
}

function formatBadge(names: readonly string[] | undefined): string {
  return names === undefined ? "" : `◀ ${names.join(", ")}`;
}

function badgeColumn(columns: number): number {
  return Math.min(Math.floor(columns / 2), 44);
}
