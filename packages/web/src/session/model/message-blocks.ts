import { findPayloadFault, type SessionEntry } from "@coppice/core";

/** A part of what an entry says. */
export type MessageBlock =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string; readonly isRedacted: boolean }
  | { readonly kind: "tool-call"; readonly id: string; readonly name: string; readonly arguments: unknown }
  /** A data URL of a picture type that browsers draw without running anything. */
  | { readonly kind: "image"; readonly source: string }
  | { readonly kind: "error"; readonly text: string }
  /** Anything else, as JSON. */
  | { readonly kind: "unknown"; readonly name: string; readonly json: string };

/** What a tool has answered. */
export interface ToolResult {
  readonly entryId: string;
  readonly callId: string | undefined;
  readonly name: string;
  readonly isError: boolean;
  readonly blocks: readonly MessageBlock[];
}

const pictureTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"]);
const base64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/;

/** What the message of an entry says, in order; an entry of another type, or one whose payload is broken, is shown whole. */
export function readBlocks(entry: SessionEntry): MessageBlock[] {
  if (findPayloadFault(entry) !== undefined) return [toUnknown(entry.type, entry)];
  if (entry.type === "custom_message") return contentToBlocks(entry.content);
  if (entry.type === "compaction" || entry.type === "branch_summary") return textToBlocks(entry.summary);
  if (entry.type !== "message") return [toUnknown(entry.type, entry)];
  const { message } = entry;
  const blocks = contentToBlocks(message.content);
  if (typeof message.summary === "string") blocks.push(...textToBlocks(message.summary));
  if (typeof message.errorMessage === "string" && message.errorMessage !== "")
    blocks.push({ kind: "error", text: message.errorMessage });
  return blocks;
}

/** The result of a tool that an entry holds; undefined when it is none. */
export function readToolResult(entry: SessionEntry): ToolResult | undefined {
  if (entry.type !== "message" || entry.message?.role !== "toolResult") return undefined;
  const { toolCallId, toolName, isError } = entry.message;
  return {
    entryId: entry.id,
    callId: typeof toolCallId === "string" ? toolCallId : undefined,
    name: typeof toolName === "string" ? toolName : "tool",
    isError: isError === true,
    blocks: readBlocks(entry),
  };
}

/** The text of blocks alone, as it is. */
export function blocksToText(blocks: readonly MessageBlock[]): string {
  return blocks.flatMap((block) => (block.kind === "text" || block.kind === "error" ? [block.text] : [])).join("\n\n");
}

/** A message's content with another text: it stands where the first text was, pictures stay. */
export function replaceText(content: unknown, text: string): string | unknown[] {
  if (!Array.isArray(content) || content.every(isTextPart)) return text;
  const first = content.findIndex(isTextPart);
  const part = { type: "text", text };
  if (first < 0) return [part, ...content];
  return content.flatMap((old, index) => (index === first ? [part] : isTextPart(old) ? [] : [old]));
}

function isTextPart(part: unknown): boolean {
  return (part as { type?: unknown } | null)?.type === "text";
}

function contentToBlocks(content: unknown): MessageBlock[] {
  if (typeof content === "string") return textToBlocks(content);
  if (!Array.isArray(content)) return content === undefined ? [] : [toUnknown("content", content)];
  return content.flatMap(partToBlocks);
}

function textToBlocks(text: string): MessageBlock[] {
  return text.trim() === "" ? [] : [{ kind: "text", text }];
}

function partToBlocks(part: unknown): MessageBlock[] {
  const { type, text, thinking, redacted, id, name, data, mimeType, ...rest } = (part ?? {}) as Record<string, unknown>;
  if (type === "text" && typeof text === "string") return textToBlocks(text);
  if (type === "thinking" && typeof thinking === "string")
    return thinking.trim() === "" && redacted !== true
      ? []
      : [{ kind: "thinking", text: thinking, isRedacted: redacted === true }];
  if (type === "toolCall" && typeof id === "string" && typeof name === "string")
    return [{ kind: "tool-call", id, name, arguments: rest.arguments }];
  if (
    type === "image" &&
    typeof data === "string" &&
    pictureTypes.has(String(mimeType)) &&
    base64.test(data.slice(0, 4096))
  )
    return [{ kind: "image", source: `data:${mimeType};base64,${data.replace(/\s+/g, "")}` }];
  return [toUnknown(typeof type === "string" ? type : "part", part)];
}

function toUnknown(name: string, value: unknown): MessageBlock {
  return { kind: "unknown", name, json: JSON.stringify(value, undefined, 2) ?? "" };
}
