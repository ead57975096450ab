import type { SharedSession } from "@coppice/client";
import { useCursors, useDevices, useTree } from "@coppice/react";
import { useCallback, useMemo, useState } from "react";
import { placeCursors } from "../model/cursor-marks.ts";
import { findShownEntry } from "../model/session-node.ts";
import { layOutTreeRows, type TreeFolding, type TreeRow } from "../model/tree-rows.ts";
import { TreeRuns } from "../model/tree-runs.ts";

/** The rows of a session's tree and how to fold them. */
export interface TreeRowsState {
  readonly rows: readonly TreeRow[];
  readonly toggle: (what: "turn" | "branch", id: string) => void;
}

/** Keeps the rows of a session's tree up to date. `keptId` has a row of its own in any case. */
export function useTreeRows(session: SharedSession, keptId: string | undefined): TreeRowsState {
  const { tree, version, leafId } = useTree(session);
  const cursors = useCursors(session);
  const devices = useDevices();
  const [folding, setFolding] = useState<TreeFolding>({ turns: new Set(), branches: new Set() });
  // Grows with the tree; nothing else looks at it.
  const runs = useMemo(() => new TreeRuns(), [session]);
  const rows = useMemo(() => {
    runs.update(tree);
    const deviceIds = devices.map(({ id }) => id);
    return layOutTreeRows({
      tree,
      runs,
      leafId: findShownEntry(tree, leafId ?? null)?.id ?? null,
      cursors: placeCursors(tree, cursors, deviceIds),
      folding,
      keptId,
    });
  }, [tree, version, leafId, runs, cursors, devices, folding, keptId]);
  const toggle = useCallback((what: "turn" | "branch", id: string) => {
    setFolding((before) => {
      const field = what === "turn" ? "turns" : "branches";
      const toggled = new Set(before[field]);
      if (!toggled.delete(id)) toggled.add(id);
      return { ...before, [field]: toggled };
    });
  }, []);
  return { rows, toggle };
}
