/** How many tokens messages take, without asking a model: rough, and rather too many than too few. */
import type { AgentMessageLike } from "./entries.ts";

/** English text and code take about four characters a token with the common tokenizers; pi counts the same way. */
const CHARS_PER_TOKEN = 4;
/** An image costs about 1,200 tokens with the large providers. */
const IMAGE_CHARS = 4_800;

/** Estimates the tokens of one message from the length of what the model would read of it. */
export function estimateTokens(message: AgentMessageLike): number {
  const { content, summary, command, output } = message;
  const blocks = Array.isArray(content) ? content : [content];
  const chars = blocks.reduce((total: number, block) => total + countBlockChars(block), 0);
  return Math.ceil((chars + lengthOf(summary) + lengthOf(command) + lengthOf(output)) / CHARS_PER_TOKEN);
}

/**
 * Estimates the tokens of a context. Where an assistant message tells what the provider counted, only what follows it
 * is estimated; an aborted or failed request counted nothing.
 */
export function estimateContextTokens(messages: readonly AgentMessageLike[]): number {
  const countedIndex = messages.findLastIndex((message) => readContextTokens(message) > 0);
  const counted = messages[countedIndex];
  const start = counted === undefined ? 0 : readContextTokens(counted);
  return messages.slice(countedIndex + 1).reduce((total, message) => total + estimateTokens(message), start);
}

function readContextTokens(message: AgentMessageLike): number {
  const { role, stopReason, usage } = message;
  if (role !== "assistant" || stopReason === "aborted" || stopReason === "error") return 0;
  if (typeof usage !== "object" || usage === null) return 0;
  const { totalTokens, input, output, cacheRead, cacheWrite } = usage as Record<string, unknown>;
  const sum = [input, output, cacheRead, cacheWrite].reduce<number>((total, part) => total + asNumber(part), 0);
  return asNumber(totalTokens) || sum;
}

function countBlockChars(block: unknown): number {
  if (typeof block === "string") return block.length;
  if (typeof block !== "object" || block === null) return 0;
  const { type, text, thinking, name, arguments: args } = block as Record<string, unknown>;
  if (type === "image") return IMAGE_CHARS;
  const argumentChars = args === undefined ? 0 : lengthOf(JSON.stringify(args));
  return lengthOf(text) + lengthOf(thinking) + lengthOf(name) + argumentChars;
}

function lengthOf(text: unknown): number {
  return typeof text === "string" ? text.length : 0;
}

function asNumber(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
