/** The views of a session. */
export type Pane = "tree" | "transcript" | "log";

/** What a screen has room for. */
export type PaneRoom = "one" | "two" | "three";

/** Which views are shown, and between which there is a choice. */
export interface ShownPanes {
  readonly shown: readonly Pane[];
  /** Empty: all are shown. */
  readonly choice: readonly Pane[];
  /** Which of the choice is shown. */
  readonly chosen: Pane;
}

/**
 * One view at a time on a phone; on a wider screen the tree stands beside the transcript or the log, and nobody is offered
 * what is there anyway; on the widest all three stand side by side.
 */
export function arrangePanes(room: PaneRoom, wanted: Pane): ShownPanes {
  if (room === "three") return { shown: ["tree", "transcript", "log"], choice: [], chosen: wanted };
  if (room === "one") return { shown: [wanted], choice: ["tree", "transcript", "log"], chosen: wanted };
  const chosen = wanted === "log" ? "log" : "transcript";
  return { shown: ["tree", chosen], choice: ["transcript", "log"], chosen };
}
