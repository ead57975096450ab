/** What tool calls say about the conversation: which results belong to which calls, which files were touched. */
import type { AgentMessageLike, SessionEntry } from "./entries.ts";

/** A request of the model to run a tool. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: { readonly [name: string]: unknown };
}

/** Files that tools of a conversation touched, as pi keeps them in `details`; each list sorted, no path in both. */
export interface FileLists {
  /** Read and not changed. */
  readonly readFiles: string[];
  /** Written or edited. */
  readonly modifiedFiles: string[];
}

/** The tool calls of an assistant message, in order; none for any other message. */
export function readToolCalls(message: AgentMessageLike): ToolCall[] {
  if (message.role !== "assistant" || !Array.isArray(message.content)) return [];
  return message.content.filter(isToolCall);
}

/** The call a tool result answers; undefined for any other message. */
export function readResultCallId(message: AgentMessageLike): string | undefined {
  if (message.role !== "toolResult" || typeof message.toolCallId !== "string") return undefined;
  return message.toolCallId;
}

/**
 * Lists the files that `read`, `write` and `edit` calls name in their `path`, together with those that earlier
 * summaries list in their details. Summaries written by hooks are left out: their details are the hook's own.
 */
export function collectFileLists(
  messages: readonly AgentMessageLike[],
  earlierSummaries: readonly SessionEntry[],
): FileLists {
  const read = new Set<string>();
  const modified = new Set<string>();
  for (const entry of earlierSummaries) {
    if ((entry.type !== "compaction" && entry.type !== "branch_summary") || entry.fromHook) continue;
    const details = (entry.details ?? {}) as Partial<Record<keyof FileLists, unknown>>;
    addStrings(read, details.readFiles);
    addStrings(modified, details.modifiedFiles);
  }
  for (const call of messages.flatMap(readToolCalls)) {
    const { path } = call.arguments;
    if (call.name === "read") addStrings(read, [path]);
    if (call.name === "write" || call.name === "edit") addStrings(modified, [path]);
  }
  return {
    readFiles: [...read].filter((path) => !modified.has(path)).sort(),
    modifiedFiles: [...modified].sort(),
  };
}

/** The lists as pi appends them to a summary, for the model to read; empty when no file was touched. */
export function formatFileLists({ readFiles, modifiedFiles }: FileLists): string {
  const section = (tag: string, paths: readonly string[]): string =>
    paths.length === 0 ? "" : `\n\n<${tag}>\n${paths.join("\n")}\n</${tag}>`;
  return section("read-files", readFiles) + section("modified-files", modifiedFiles);
}

function isToolCall(block: unknown): block is ToolCall {
  const call = block as { type?: unknown; id?: unknown; name?: unknown; arguments?: unknown } | null;
  if (call?.type !== "toolCall") return false;
  return (
    typeof call.id === "string" &&
    typeof call.name === "string" &&
    typeof call.arguments === "object" &&
    call.arguments !== null
  );
}

function addStrings(paths: Set<string>, values: unknown): void {
  if (!Array.isArray(values)) return;
  for (const value of values) if (typeof value === "string" && value !== "") paths.add(value);
}
