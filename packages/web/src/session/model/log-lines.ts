import { readArchiveTarget } from "./archived-branches.ts";
import type { SessionNode } from "./session-node.ts";

/** A line of the log, known without opening any content. */
export interface LogLine {
  /** Place in the log, from 1. */
  readonly position: number;
  readonly node: SessionNode;
  /** The entry that a move, a label or an edit is about; undefined: none, or before the first entry. */
  readonly targetId: string | undefined;
  /** The first line of its day, in the reader's time. */
  readonly beginsDay: boolean;
}

/** The log as lines, in the order every device agrees on, moves included. */
export function layOutLog(nodes: readonly SessionNode[], dayOf: (timestamp: string) => string): LogLine[] {
  let before: string | undefined;
  return nodes.map((node, index) => {
    const day = dayOf(node.timestamp);
    const beginsDay = day !== before;
    before = day;
    const targetId = readArchiveTarget(node.targetId) ?? node.targetId ?? undefined;
    return { position: index + 1, node, targetId, beginsDay };
  });
}
