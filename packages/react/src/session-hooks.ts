import type { SessionCursor, SessionNode, SessionProblem, SessionTreeView, SharedSession } from "@coppice/client";
import { useMemo, useSyncExternalStore } from "react";
import { type Branch, findBranch } from "./branch.ts";
import type { EntryContent } from "./entry-contents.ts";
import { keepEqual, keepEqualItems, keepSameItems } from "./keep-equal.ts";
import { LiveValue } from "./live-value.ts";
import { partsOfSession } from "./shared-parts.ts";
import { useLiveValue } from "./use-live-value.ts";

/** A session's tree at a moment. */
export interface TreeSnapshot {
  /** Grows with each change; for lists of dependencies, because `tree` is always the same object. */
  readonly version: number;
  readonly tree: SessionTreeView;
  /** What this replica looks at; undefined: the session has not been fetched yet. */
  readonly leafId: string | null | undefined;
  /** What of the session cannot be shown here. */
  readonly problems: readonly SessionProblem[];
}

/** The whole tree: renders again whenever an entry comes, the view moves, or something is found unreadable. */
export function useTree(session: SharedSession): TreeSnapshot {
  const value = useMemo(() => {
    const { tree } = session;
    let shown: readonly SessionNode[] | undefined;
    return new LiveValue({
      feed: partsOfSession(session).feed,
      kinds: ["entries", "leaf"] as const,
      read: (before: TreeSnapshot | undefined): TreeSnapshot => {
        // The same list as long as the tree is.
        const nodes = tree.nodes();
        const leafId = session.getLeafId();
        const problems = keepEqual<readonly SessionProblem[]>(before?.problems, session.getProblems());
        if (before !== undefined && nodes === shown && leafId === before.leafId && problems === before.problems)
          return before;
        shown = nodes;
        return { version: 1 + (before?.version ?? 0), tree, leafId, problems };
      },
    });
  }, [session]);
  return useLiveValue(value);
}

/**
 * The branch that ends at an entry, or where this replica looks (the default). Renders again when the branch is another
 * one, and not for what comes elsewhere in the tree.
 */
export function useBranch(session: SharedSession, leafId?: string | null): Branch {
  const value = useMemo(
    () =>
      new LiveValue({
        feed: partsOfSession(session).feed,
        kinds: leafId === undefined ? (["entries", "leaf"] as const) : (["entries"] as const),
        read: (before: Branch | undefined): Branch => {
          const found = findBranch(session.tree, leafId === undefined ? session.getLeafId() : leafId);
          const nodes = keepSameItems(before?.nodes, found.nodes);
          const isSame =
            nodes === before?.nodes &&
            found.leafId === before.leafId &&
            found.missingParentId === before.missingParentId &&
            found.isCircular === before.isCircular;
          return isSame ? before : { ...found, nodes };
        },
      }),
    [session, leafId],
  );
  return useLiveValue(value);
}

/** All entries in append order, `leaf` entries included: the order every device has. */
export function useLog(session: SharedSession): readonly SessionNode[] {
  const value = useMemo(
    () =>
      new LiveValue({
        feed: partsOfSession(session).feed,
        kinds: ["entries"] as const,
        read: () => session.tree.nodes(),
      }),
    [session],
  );
  return useLiveValue(value);
}

/**
 * The content of one entry, opened while the component is mounted: for lists that show a part of a session at a time. Of
 * entries that nobody shows any more up to 4 MiB of text are kept, to scroll back to.
 */
export function useEntry(session: SharedSession, id: string): EntryContent {
  const [subscribe, get] = useMemo(() => {
    const { contents } = partsOfSession(session);
    return [(listener: () => void) => contents.subscribe(id, listener), () => contents.get(id)] as const;
  }, [session, id]);
  return useSyncExternalStore(subscribe, get, get);
}

/** The live cursors, one of each replica, the own one first. A cursor is the same object as long as it says the same. */
export function useCursors(session: SharedSession): readonly SessionCursor[] {
  const value = useMemo(
    () =>
      new LiveValue({
        feed: partsOfSession(session).feed,
        kinds: ["cursors"] as const,
        read: (before: readonly SessionCursor[] | undefined) =>
          keepEqualItems(before, session.getCursors(), ({ replicaId }) => replicaId),
      }),
    [session],
  );
  return useLiveValue(value);
}
