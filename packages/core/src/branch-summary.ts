/** Leaving a branch: what it held that the target does not, and the entry that keeps a summary of it. */
import { type ContextOptions, type ProjectedEntry, projectEntries } from "./context-projection.ts";
import type { AgentMessageLike, SessionEntry } from "./entries.ts";
import type { Session } from "./session.ts";
import type { Summarize } from "./summarize.ts";
import { estimateTokens } from "./token-estimate.ts";
import { collectFileLists, type FileLists, formatFileLists } from "./tool-calls.ts";

/** What moving from one entry to another leaves behind. */
export interface BranchSummaryPlan {
  /** The last entry both branches share; null when they share none. */
  readonly commonAncestorId: string | null;
  /** Entries of the branch that is left, below the common ancestor, oldest first. */
  readonly abandonedEntries: SessionEntry[];
  /** Their messages, oldest first, as many of the newest as fit the budget. */
  readonly messages: AgentMessageLike[];
  /** Files touched on the branch that is left. */
  readonly files: FileLists;
}

/** A summary that exceeds the budget is still taken while less than this share is used: it stands for much. */
const SUMMARY_FILL_LIMIT = 0.9;

/**
 * Plans the summary of a move. Both paths root first; `tokenBudget` bounds what the summarising model has to read
 * (estimated; default: no bound). Tool results are left out: what they led to stands in the answers.
 */
export function planBranchSummary(
  leftPath: readonly SessionEntry[],
  targetPath: readonly SessionEntry[],
  tokenBudget: number = Number.POSITIVE_INFINITY,
  options: ContextOptions = {},
): BranchSummaryPlan {
  const targetIds = new Set(targetPath.map((entry) => entry.id));
  const ancestorIndex = leftPath.findLastIndex((entry) => targetIds.has(entry.id));
  const abandonedEntries = leftPath.slice(ancestorIndex + 1);
  const abandoned = new Set(abandonedEntries);
  // Projected as part of the whole branch: a compaction may keep entries from above the common ancestor on.
  const projected = projectEntries(leftPath, { ...options, entryTransforms: [] });
  const messages = takeNewest(
    projected.filter(({ entry }) => abandoned.has(entry)),
    tokenBudget,
  );
  return {
    commonAncestorId: leftPath[ancestorIndex]?.id ?? null,
    abandonedEntries,
    messages,
    files: collectFileLists(messages, abandonedEntries),
  };
}

/** How a branch is summarised when it is left. */
export interface MoveWithSummaryOptions extends ContextOptions {
  /** Bounds what the summarising model has to read, in estimated tokens; default: no bound. */
  readonly tokenBudget?: number;
  /** Handed to `summarize`. */
  readonly instructions?: string;
}

/**
 * Moves the leaf to an entry (null: before the first) and leaves there a summary of the branch that was left. Returns
 * the summary's id; undefined when the leaf is there already, and when the branch that is left has no messages: then
 * it only moves. An unknown entry rejects with `not_found`; a leaf that moved meanwhile with `invalid_session`. In both
 * cases nothing is written.
 */
export async function moveWithSummary(
  session: Session,
  targetId: string | null,
  summarize: Summarize,
  options: MoveWithSummaryOptions = {},
): Promise<string | undefined> {
  const leftId = await session.getLeafId();
  const storage = session.getStorage();
  const [leftPath, targetPath] = [await storage.getPathToRoot(leftId), await storage.getPathToRoot(targetId)];
  if (leftId === targetId) return undefined;
  const { messages, files } = planBranchSummary(leftPath, targetPath, options.tokenBudget, options);
  if (messages.length === 0) return session.moveTo(targetId, undefined, leftId);
  const guidance = options.instructions === undefined ? {} : { instructions: options.instructions };
  const summary = (await summarize({ kind: "branch", messages, ...guidance })) + formatFileLists(files);
  return session.moveTo(targetId, { summary, details: files }, leftId);
}

/** Messages from the end of a branch as far as the budget reaches. */
function takeNewest(items: readonly ProjectedEntry[], tokenBudget: number): AgentMessageLike[] {
  const taken: AgentMessageLike[] = [];
  let tokens = 0;
  for (const { entry, messages } of [...items].reverse()) {
    const readable = messages.filter((message) => message.role !== "toolResult" && message.role !== "system");
    const size = readable.reduce((total, message) => total + estimateTokens(message), 0);
    if (tokens + size > tokenBudget) {
      const isSummary = entry.type === "compaction" || entry.type === "branch_summary";
      return isSummary && tokens < tokenBudget * SUMMARY_FILL_LIMIT ? [...readable, ...taken] : taken;
    }
    taken.unshift(...readable);
    tokens += size;
  }
  return taken;
}
