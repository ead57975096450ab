import type { SharedSession } from "@coppice/client";
import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { TreeRow } from "../model/tree-rows.ts";
import type { MenuItem } from "../parts/menu.tsx";
import { Menu, MenuButton } from "../parts/menu.tsx";
import { useMedia } from "../parts/use-media.ts";
import { findByText, moveInTree } from "./tree-keys.ts";
import { TreeRowView } from "./tree-row-view.tsx";
import { useTreeRows } from "./use-tree-rows.ts";
import "./tree.css";

/** How long letters that are typed in a row belong together, in ms. */
const typingPauseMs = 700;
const rowHeight = 32;
const touchRowHeight = 40;

/** What the tree tells the page. */
export interface TreePaneProps {
  readonly session: SharedSession;
  /** The entry that is looked at; undefined: the end of the own branch. */
  readonly lookedAtId: string | undefined;
  readonly onLookAt: (entryId: string) => void;
  /** What can be done with an entry; `headId`: its branch's first. */
  readonly actsOf: (entryId: string, headId: string | undefined, isArchived: boolean) => readonly MenuItem[];
}

/** The session's tree: rows of a virtual list with one tab stop, and everything by the keyboard. */
export function TreePane({ session, lookedAtId, onLookAt, actsOf }: TreePaneProps): ReactNode {
  const [focusedKey, setFocusedKey] = useState<string>();
  const { rows, toggle } = useTreeRows(session, lookedAtId);
  const scroller = useRef<HTMLDivElement>(null);
  const texts = useRef(new Map<string, string>());
  const typed = useRef({ text: "", atMs: 0 });
  const [menu, setMenu] = useState<{ anchor: HTMLElement; items: readonly MenuItem[] }>();
  const wantedKey = focusedKey ?? lookedAtId;
  const focused = useMemo(() => {
    const found = rows.findIndex(({ key }) => key === wantedKey);
    const lastOnPath = rows.findLastIndex(({ isOnPath }) => isOnPath);
    return Math.max(0, found >= 0 ? found : lastOnPath);
  }, [rows, wantedKey]);
  const height = useMedia("(pointer: coarse)") ? touchRowHeight : rowHeight;
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    // Both stay the same functions while nothing changes: with others, the list measures all rows again at each frame.
    estimateSize: useCallback(() => height, [height]),
    getItemKey: useCallback((index: number) => rows[index]?.key ?? index, [rows]),
    overscan: 12,
    // The row that has the focus stays in the page however far it is scrolled away.
    rangeExtractor: useCallback(
      (range: Range) =>
        [...new Set([...defaultRangeExtractor(range), focused])]
          .sort((a, b) => a - b)
          .filter((index) => index < range.count),
      [focused],
    ),
  });
  useShownRow(rows, lookedAtId, (index) => virtualizer.scrollToIndex(index, { align: "auto" }));

  const focusRow = (index: number): void => {
    const row = rows[index];
    if (row === undefined) return;
    setFocusedKey(row.key);
    virtualizer.scrollToIndex(index, { align: "auto" });
    requestAnimationFrame(() => findRowElement(scroller.current, index)?.focus({ preventScroll: true }));
  };
  const act = (row: TreeRow): void => {
    setFocusedKey(row.key);
    if (row.kind === "entry") onLookAt(row.node.id);
    if (row.kind === "fold") toggle("turn", row.anchorId);
  };
  const itemsOf = (row: TreeRow): readonly MenuItem[] =>
    row.kind === "entry" ? actsOf(row.node.id, row.headId, row.isArchived) : [];
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[focused];
    if (row === undefined || event.altKey || event.defaultPrevented) return;
    if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) {
      const anchor = findRowElement(scroller.current, focused);
      const items = itemsOf(row);
      if (anchor === null || items.length === 0) return;
      event.preventDefault();
      setMenu({ anchor, items });
      return;
    }
    if (event.ctrlKey || event.metaKey) return;
    const move = moveInTree(event.key, rows, focused);
    if (move?.kind === "focus") focusRow(move.index);
    else if (move !== undefined) toggle(move.kind, move.id);
    else if (event.key === "Enter") act(row);
    else if (event.key === " ") act(row);
    else if (event.key.length === 1) {
      const isNew = event.timeStamp - typed.current.atMs > typingPauseMs;
      typed.current = { text: (isNew ? "" : typed.current.text) + event.key, atMs: event.timeStamp };
      const labels = rows.map((each) => (each.kind === "entry" ? texts.current.get(each.node.id) : undefined));
      const next = findByText(labels, focused, typed.current.text);
      if (next < 0) return;
      focusRow(next);
    } else return;
    event.preventDefault();
  };
  const onText = useCallback((id: string, text: string) => void texts.current.set(id, text), []);

  return (
    <div ref={scroller} className="tree-scroller">
      <div
        role="tree"
        aria-label="Session tree"
        className="tree-rows"
        style={{ height: virtualizer.getTotalSize() }}
        onKeyDown={onKeyDown}
      >
        {virtualizer.getVirtualItems().map(({ index, start, size }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys of all rows
            <div
              key={row.key}
              role="treeitem"
              data-index={index}
              tabIndex={index === focused ? 0 : -1}
              aria-level={row.ariaLevel}
              aria-posinset={index + 1}
              aria-setsize={rows.length}
              aria-selected={row.kind === "entry" && row.node.id === lookedAtId}
              aria-current={row.isOnPath ? "true" : undefined}
              aria-expanded={isExpanded(row)}
              className={rowClass(row, lookedAtId)}
              style={{ transform: `translateY(${start}px)`, height: size }}
              onClick={() => act(row)}
              onFocus={() => setFocusedKey(row.key)}
            >
              <TreeRowView session={session} row={row} onText={onText} />
              {row.kind === "entry" ? (
                // Keys open it from the row: a tab stop in each of 10,000 rows would be none.
                // biome-ignore lint/a11y/useKeyWithClickEvents: keeps the press from the row
                // biome-ignore lint/a11y/noStaticElementInteractions: as above
                <span className="row-acts" onClick={(event) => event.stopPropagation()}>
                  <MenuButton
                    name="What to do with this entry"
                    tabIndex={-1}
                    className="row-button"
                    items={() => itemsOf(row)}
                  />
                </span>
              ) : null}
            </div>
          );
        })}
      </div>
      {menu === undefined ? null : (
        <Menu name="What to do with this entry" {...menu} onClose={() => setMenu(undefined)} />
      )}
    </div>
  );
}

/** Brings the row of what is looked at into view, once for each that is. */
function useShownRow(rows: readonly TreeRow[], id: string | undefined, show: (index: number) => void): void {
  const shown = useRef<string | undefined>(undefined);
  const index = useMemo(
    () => (id === undefined ? rows.findLastIndex(({ isOnPath }) => isOnPath) : rows.findIndex(({ key }) => key === id)),
    [rows, id],
  );
  useEffect(() => {
    const wanted = id ?? ":leaf";
    if (index < 0 || shown.current === wanted) return undefined;
    const frame = requestAnimationFrame(() => {
      shown.current = wanted;
      show(index);
    });
    return () => cancelAnimationFrame(frame);
  });
}

function findRowElement(scroller: HTMLElement | null, index: number): HTMLElement | null {
  return scroller?.querySelector<HTMLElement>(`[data-index="${index}"]`) ?? null;
}

function isExpanded(row: TreeRow): boolean | undefined {
  if (row.kind === "fold") return false;
  if (row.kind !== "entry") return undefined;
  if (row.branch === "collapsed" || row.turn === "folded") return false;
  return row.turn === "open" || row.branch === "open" ? true : undefined;
}

function rowClass(row: TreeRow, lookedAtId: string | undefined): string {
  const classes = ["tree-row", `row-${row.kind}`];
  if (row.isOnPath) classes.push("is-on-path");
  if (row.kind === "entry" && row.node.id === lookedAtId) classes.push("is-looked-at");
  if (row.kind === "entry" && row.isArchived) classes.push("is-archived");
  return classes.join(" ");
}
