import type { TreeRow } from "../model/tree-rows.ts";

/** What a key does in the tree. */
export type TreeMove =
  | { readonly kind: "focus"; readonly index: number }
  | { readonly kind: "turn"; readonly id: string }
  | { readonly kind: "branch"; readonly id: string };

/** Rows that a page key moves by. */
const pageRows = 10;

/**
 * What an arrow, Home, End or a page key does on a row, as in every tree: right opens and goes in, left closes and goes
 * out. Undefined: nothing.
 */
export function moveInTree(key: string, rows: readonly TreeRow[], at: number): TreeMove | undefined {
  const row = rows[at];
  if (row === undefined) return undefined;
  switch (key) {
    case "ArrowDown":
      return focusOn(rows, at + 1);
    case "ArrowUp":
      return focusOn(rows, at - 1);
    case "PageDown":
      return focusOn(rows, Math.min(rows.length - 1, at + pageRows));
    case "PageUp":
      return focusOn(rows, Math.max(0, at - pageRows));
    case "Home":
      return focusOn(rows, 0);
    case "End":
      return focusOn(rows, rows.length - 1);
    case "ArrowRight":
      return openRow(row) ?? focusOn(rows, at + 1);
    case "ArrowLeft":
      return closeRow(row) ?? focusOn(rows, findAbove(rows, at));
    default:
      return undefined;
  }
}

function openRow(row: TreeRow): TreeMove | undefined {
  if (row.kind === "fold") return { kind: "turn", id: row.anchorId };
  if (row.kind !== "entry") return undefined;
  if (row.branch === "collapsed" && row.headId !== undefined) return { kind: "branch", id: row.headId };
  return row.turn === "folded" ? { kind: "turn", id: row.anchorId } : undefined;
}

function closeRow(row: TreeRow): TreeMove | undefined {
  if (row.kind !== "entry") return undefined;
  if (row.turn === "open") return { kind: "turn", id: row.anchorId };
  return row.branch === "open" && row.headId !== undefined ? { kind: "branch", id: row.headId } : undefined;
}

/** The nearest row above on a smaller level. */
function findAbove(rows: readonly TreeRow[], at: number): number {
  const level = rows[at]?.ariaLevel ?? 1;
  for (let index = at - 1; index >= 0; index--) if ((rows[index]?.ariaLevel ?? 1) < level) return index;
  return at;
}

function focusOn(rows: readonly TreeRow[], index: number): TreeMove | undefined {
  return index >= 0 && index < rows.length ? { kind: "focus", index } : undefined;
}

/** The next row, from the one after `at` round to it, whose text begins with what was typed; -1: none. */
export function findByText(texts: readonly (string | undefined)[], at: number, typed: string): number {
  const wanted = typed.toLowerCase();
  // One letter goes on to the next; more of them may still mean the row at hand.
  const start = typed.length === 1 ? 1 : 0;
  for (let step = start; step < texts.length + start; step++) {
    const index = (at + step) % texts.length;
    if (texts[index]?.toLowerCase().startsWith(wanted)) return index;
  }
  return -1;
}
