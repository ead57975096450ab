import type { SessionEntry } from "./entries.ts";
import type { SessionStats } from "./session-storage.ts";

/** Adds up messages and token usage, as pi-agent-core 0.82 does: usage that is not complete counts as none. */
export function computeSessionStats(entries: readonly SessionEntry[]): SessionStats {
  const stats: SessionStats = { messageCount: 0, cachedTokens: 0, uncachedTokens: 0, totalTokens: 0, costTotal: 0 };
  for (const entry of entries) {
    if (entry.type === "message") stats.messageCount++;
    const usage = readUsage(entry);
    if (usage === undefined) continue;
    stats.cachedTokens += usage.cacheRead;
    stats.uncachedTokens += usage.input + usage.cacheWrite;
    stats.totalTokens += usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
    stats.costTotal += usage.cost.total;
  }
  return stats;
}

interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  cost: { total: number };
}

function readUsage(entry: SessionEntry): Usage | undefined {
  if (entry.type === "message") return entry.message?.role === "assistant" ? asUsage(entry.message.usage) : undefined;
  if (entry.type === "compaction" || entry.type === "branch_summary") return asUsage(entry.usage);
  return undefined;
}

function asUsage(value: unknown): Usage | undefined {
  const usage = value as Partial<Usage> | null | undefined;
  const numbers = [usage?.input, usage?.output, usage?.cacheRead, usage?.cacheWrite, usage?.cost?.total];
  return numbers.every((number) => typeof number === "number") ? (usage as Usage) : undefined;
}
