/** Shortening the model's context: what to summarise, what to keep, and the entry that says so. */
import { type ContextOptions, type ProjectedEntry, projectEntries, readMessages } from "./context-projection.ts";
import type { AgentMessageLike, SessionEntry } from "./entries.ts";
import { SessionError } from "./errors.ts";
import type { Session } from "./session.ts";
import type { Summarize } from "./summarize.ts";
import { estimateContextTokens, estimateTokens } from "./token-estimate.ts";
import { collectFileLists, type FileLists, formatFileLists, readResultCallId, readToolCalls } from "./tool-calls.ts";

/** When to compact and how much to keep. */
export interface CompactionSettings {
  /** About how many recent tokens stay verbatim. */
  readonly keepRecentTokens: number;
  /** Room for the answer and the summary: compact when less than this is left of the window. */
  readonly reserveTokens: number;
}

/** pi's defaults. */
export const DEFAULT_COMPACTION_SETTINGS: CompactionSettings = { keepRecentTokens: 20_000, reserveTokens: 16_384 };

/** What a compaction of a branch would do. */
export interface CompactionPlan {
  /** The first entry kept verbatim. */
  readonly firstKeptEntryId: string;
  /** Messages before it that the summary stands for, oldest first; without a split turn's beginning. */
  readonly messagesToSummarize: AgentMessageLike[];
  /** The beginning of the turn that the cut goes through; empty when it goes between turns. */
  readonly turnPrefixMessages: AgentMessageLike[];
  /** Messages that stay, oldest first: what pi-agent-core 0.82 stores as `retainedTail`. */
  readonly keptMessages: AgentMessageLike[];
  /** The summary of the compaction before, to be carried on. */
  readonly previousSummary?: string;
  /** Estimated size of the context now. */
  readonly tokensBefore: number;
  /** Files touched in what is summarised, those of the compaction before included. */
  readonly files: FileLists;
}

/** Whether a context is so long that it should be compacted. All three in tokens. */
export function shouldCompact(contextTokens: number, contextWindow: number, settings: CompactionSettings): boolean {
  return contextTokens > contextWindow - settings.reserveTokens;
}

/**
 * Plans the compaction of a path (root first). The cut keeps about `keepRecentTokens`; it never parts a tool call from
 * its result, and prefers the shorter rest. Undefined when there is nothing to summarise: an empty path, one that ends
 * in a compaction, or one that is short enough already.
 */
export function planCompaction(
  path: readonly SessionEntry[],
  settings: Pick<CompactionSettings, "keepRecentTokens"> = DEFAULT_COMPACTION_SETTINGS,
  options: ContextOptions = {},
): CompactionPlan | undefined {
  if (path.at(-1)?.type === "compaction") return undefined;
  // Transforms may bring in entries that are not on the path, and a compaction must name one that is.
  const projected = projectEntries(path, { ...options, entryTransforms: [] });
  const previous = path.findLast((entry) => entry.type === "compaction");
  const body = projected.filter(({ entry }) => entry.type !== "compaction").map(withoutSystemMessages);
  const cutIndex = findCutIndex(body, settings.keepRecentTokens);
  const firstKept = body[cutIndex];
  if (firstKept === undefined) return undefined;

  const turnIndex = findTurnStart(body, cutIndex);
  const retainedBefore = readMessages(previous?.retainedTail);
  const messagesToSummarize = [...retainedBefore, ...messagesOf(body.slice(0, turnIndex))];
  const turnPrefixMessages = messagesOf(body.slice(turnIndex, cutIndex));
  const summarized = [...messagesToSummarize, ...turnPrefixMessages];
  if (summarized.length === 0) return undefined;
  return {
    firstKeptEntryId: firstKept.entry.id,
    messagesToSummarize,
    turnPrefixMessages,
    keptMessages: messagesOf(body.slice(cutIndex)),
    ...(previous === undefined ? {} : { previousSummary: previous.summary }),
    tokensBefore: estimateContextTokens(messagesOf(projected)),
    files: collectFileLists(summarized, previous === undefined ? [] : [previous]),
  };
}

/** How a session is compacted. */
export interface CompactOptions extends ContextOptions {
  /** About how many recent tokens stay verbatim; default 20,000. */
  readonly keepRecentTokens?: number;
  /** Also store the kept messages in the compaction, as pi-agent-core 0.82 does; default false. */
  readonly storeRetainedTail?: boolean;
  /** Handed to `summarize`. */
  readonly instructions?: string;
}

/**
 * Compacts the leaf's branch: plans, has the caller summarise, appends the compaction. Returns its id, or undefined
 * when there was nothing to summarise. Entries appended to the branch meanwhile stay verbatim. When the leaf has
 * meanwhile moved to where the summarised entries are not, nothing is appended and the call rejects with
 * `invalid_session`; it may be repeated. A rejection of `summarize` is passed on. What pi 1.6's rules need besides the
 * summary, `Session` adds to every compaction.
 */
export async function compactSession(
  session: Session,
  summarize: Summarize,
  options: CompactOptions = {},
): Promise<string | undefined> {
  const { keepRecentTokens = DEFAULT_COMPACTION_SETTINGS.keepRecentTokens } = options;
  const plan = planCompaction(await session.getBranch(), { keepRecentTokens }, options);
  if (plan === undefined) return undefined;
  const summary = (await summarizePlan(plan, summarize, options.instructions)) + formatFileLists(plan.files);
  const { firstKeptEntryId, tokensBefore, files } = plan;
  const retainedTail = options.storeRetainedTail ? plan.keptMessages : undefined;
  return session.appendFromBranch((branch) => {
    if (branch.some((entry) => entry.id === firstKeptEntryId)) {
      return { type: "compaction", summary, firstKeptEntryId, tokensBefore, retainedTail, details: files };
    }
    const message = `The leaf left the branch of entry ${firstKeptEntryId} while it was summarised; compact again`;
    throw new SessionError("invalid_session", message);
  });
}

async function summarizePlan(plan: CompactionPlan, summarize: Summarize, instructions?: string): Promise<string> {
  const { messagesToSummarize, turnPrefixMessages, previousSummary } = plan;
  const guidance = instructions === undefined ? {} : { instructions };
  const carried = previousSummary === undefined ? {} : { previousSummary };
  const history =
    messagesToSummarize.length === 0
      ? previousSummary
      : await summarize({ kind: "history", messages: messagesToSummarize, ...carried, ...guidance });
  if (turnPrefixMessages.length === 0) return history ?? "";
  const prefix = await summarize({ kind: "turn-prefix", messages: turnPrefixMessages, ...guidance });
  return `${history ?? "No prior history."}\n\n---\n\n**Turn Context (split turn):**\n\n${prefix}`;
}

/** pi 1.6 keeps the system prompt as a message; it is neither history nor anything to cut at. */
function withoutSystemMessages({ entry, messages }: ProjectedEntry): ProjectedEntry {
  return { entry, messages: messages.filter((message) => message.role !== "system") };
}

/** Index of the first item to keep; past the end (nothing found) when the items cannot or need not be cut. */
function findCutIndex(items: readonly ProjectedEntry[], keepRecentTokens: number): number {
  const cutPoints = findCutPoints(items);
  let keptTokens = 0;
  for (let index = items.length - 1; index > 0; index--) {
    keptTokens += messagesOf(items.slice(index, index + 1)).reduce((sum, message) => sum + estimateTokens(message), 0);
    if (keptTokens < keepRecentTokens) continue;
    const cutIndex = cutPoints.find((point) => point >= index) ?? cutPoints.findLast((point) => point < index);
    return cutIndex === undefined ? items.length : withSilentBefore(items, cutIndex);
  }
  return items.length;
}

/** Where a cut parts no tool call from its result: indices in ascending order. */
function findCutPoints(items: readonly ProjectedEntry[]): number[] {
  const calls = new Set(
    messagesOf(items)
      .flatMap(readToolCalls)
      .map((call) => call.id),
  );
  const cutPoints: number[] = [];
  /** Calls before the index whose results come at or after it. */
  const openCalls = new Set<string>();
  for (let index = items.length - 1; index > 0; index--) {
    const messages = messagesOf(items.slice(index, index + 1));
    for (const message of messages) {
      const callId = readResultCallId(message);
      // A result without a call anywhere belongs to nothing and binds nothing.
      if (callId !== undefined && calls.has(callId)) openCalls.add(callId);
    }
    for (const call of messages.flatMap(readToolCalls)) openCalls.delete(call.id);
    const startsWithResult = messages[0]?.role === "toolResult";
    if (messages.length > 0 && !startsWithResult && openCalls.size === 0) cutPoints.unshift(index);
  }
  return cutPoints;
}

/** Model changes, labels and the like directly before a kept message stay with it, as in pi. */
function withSilentBefore(items: readonly ProjectedEntry[], cutIndex: number): number {
  let index = cutIndex;
  while (index > 0 && items[index - 1]?.messages.length === 0) index--;
  return index;
}

/** Index where the turn of an item starts; the item's own when it starts one or no start comes before. */
function findTurnStart(items: readonly ProjectedEntry[], cutIndex: number): number {
  const firstMessage = items.findIndex((item, index) => index >= cutIndex && item.messages.length > 0);
  const start = items.slice(0, firstMessage + 1).findLastIndex(({ entry }) => startsTurn(entry));
  return start < 0 ? cutIndex : Math.min(start, cutIndex);
}

function startsTurn(entry: SessionEntry): boolean {
  if (entry.type === "message") return entry.message?.role === "user" || entry.message?.role === "bashExecution";
  return entry.type === "custom_message" || entry.type === "branch_summary";
}

function messagesOf(items: readonly ProjectedEntry[]): AgentMessageLike[] {
  return items.flatMap((item) => item.messages);
}
