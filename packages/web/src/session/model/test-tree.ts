import { SessionTree } from "@coppice/core";
import type { SessionNode } from "./session-node.ts";

/** For tests: `[id, parentId, type-or-role, target?, label?]`; a type holds an underscore or is one of a few words. */
export type Sketch = readonly [
  id: string,
  parentId: string | null,
  what: string,
  targetId?: string | null,
  label?: string,
];

const types = new Set([
  "leaf",
  "label",
  "session_info",
  "compaction",
  "branch_summary",
  "custom",
  "model_change",
  "thinking_level_change",
]);

/** For tests: a node of a sketch. */
export function sketchNode([id, parentId, what, targetId, label]: Sketch): SessionNode {
  const type = types.has(what) ? what : what === "odd" ? "hologram" : "message";
  return {
    id,
    parentId,
    type,
    timestamp: "2026-05-01T10:00:00.000Z",
    deviceId: "device-a",
    jsonBytes: 100,
    ...(type === "message" ? { role: what } : {}),
    ...(targetId === undefined ? {} : { targetId }),
    ...(label === undefined ? {} : { label }),
  };
}

/** For tests: a tree of sketches, in log order. */
export function sketchTree(sketches: readonly Sketch[]): SessionTree<SessionNode> {
  const tree = new SessionTree<SessionNode>();
  tree.insertAll(sketches.map(sketchNode));
  return tree;
}

/** For tests: a line of messages below `parentId`, a user's first, as agents write them. */
export function sketchLine(prefix: string, count: number, parentId: string | null = null): Sketch[] {
  return Array.from({ length: count }, (_, index) => [
    `${prefix}${index}`,
    index === 0 ? parentId : `${prefix}${index - 1}`,
    index === 0 ? "user" : index % 2 === 1 ? "assistant" : "toolResult",
  ]);
}
