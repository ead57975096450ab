import { buildSessionContext, type ContextRules, type SessionEntry, type SessionStorage } from "@coppice/core";
import type { PiReader, PiReading } from "./pi-readers.ts";

/** The branch of an entry as a reader of pi's sees it: 0.82 goes no further up than the model's context needs. */
export function readBranch(storage: SessionStorage, reader: PiReader, leafId: string | null): Promise<SessionEntry[]> {
  return reader === "0.82" ? storage.getPathToRootOrCompaction(leafId) : storage.getPathToRoot(leafId);
}

/** The context of a branch by the rules of a reader's generation; without one, as Coppice decides by itself. */
export function readContext(branch: readonly SessionEntry[], reader?: PiReader): PiReading["context"] {
  const rules: ContextRules = reader === "1.6" ? "coding-agent" : "harness";
  const context = buildSessionContext(branch, reader === undefined ? {} : { rules });
  // 1.6 has no tools in its context: they are in its system messages.
  const { activeToolNames, ...rest } = context;
  return JSON.parse(JSON.stringify(reader === "1.6" ? rest : { ...rest, activeToolNames }));
}

/** Whether a reader knows what Coppice does of a branch: messages that a compaction brings along came with 0.82. */
export function knowsAll(reader: PiReader, branch: readonly SessionEntry[]): boolean {
  return reader === "0.82" || !branch.some((entry) => entry.type === "compaction" && entry.retainedTail !== undefined);
}

/** The labels of a session by entry. */
export async function readLabels(storage: SessionStorage): Promise<Record<string, string>> {
  const labels: Record<string, string> = {};
  for (const { targetId } of await storage.findEntries("label")) {
    const label = await storage.getLabel(targetId);
    if (label !== undefined) labels[targetId] = label;
  }
  return labels;
}
