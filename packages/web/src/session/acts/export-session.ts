import type { SharedSession } from "@coppice/client";
import type { SessionEntry } from "@coppice/core";
import { describeEntry } from "../model/entry-words.ts";
import { type MessageBlock, readBlocks, readToolResult } from "../model/message-blocks.ts";

/**
 * The session as a file that Coppice and pi read: the exact text of the header and of every entry, in log order, one per
 * line. What cannot be read on this device is left out (SPEC WB68).
 */
export async function exportJsonLines(session: SharedSession): Promise<string> {
  const { storage } = session;
  const lines: string[] = [];
  const header = storage.getHeaderJson?.();
  if (header !== undefined) lines.push(header);
  for (const { id } of session.tree.nodes()) {
    const json = await storage.getEntryJson(id);
    if (json !== undefined) lines.push(json);
  }
  return lines.map((line) => `${line}\n`).join("");
}

/** The branch that ends at an entry as a Markdown document, for people (SPEC WB68). */
export async function exportMarkdown(session: SharedSession, leafId: string | null): Promise<string> {
  const { tree, storage } = session;
  const parts = [`# ${tree.sessionName() ?? "Session"}`];
  for (const { id, type } of tree.pathToRoot(leafId)) {
    if (type === "leaf" || type === "label") continue;
    const entry = await storage.getEntry(id);
    parts.push(entry === undefined ? "> (an entry that cannot be read here)" : entryToMarkdown(entry));
  }
  return `${parts.join("\n\n")}\n`;
}

function entryToMarkdown(entry: SessionEntry): string {
  const result = readToolResult(entry);
  if (result !== undefined)
    return `### Result of ${result.name}${result.isError ? " (failed)" : ""}\n\n${blocksToMarkdown(result.blocks, true)}`;
  switch (entry.type) {
    case "message": {
      const { role, command, output } = entry.message;
      if (typeof command === "string")
        return `### Command\n\n${fence(`$ ${command}\n${typeof output === "string" ? output : ""}`)}`;
      return `## ${role}\n\n${blocksToMarkdown(readBlocks(entry), false)}`;
    }
    case "custom_message":
      return `## ${entry.customType}\n\n${blocksToMarkdown(readBlocks(entry), false)}`;
    case "compaction":
    case "branch_summary":
      return `## ${entry.type === "compaction" ? "Compacted" : "Summary of a branch that was left"}\n\n${blocksToMarkdown(readBlocks(entry), false)}`;
    default:
      return `_${describeEntry(entry).text}_`;
  }
}

function blocksToMarkdown(blocks: readonly MessageBlock[], isOutput: boolean): string {
  return blocks.map((block) => blockToMarkdown(block, isOutput)).join("\n\n");
}

function blockToMarkdown(block: MessageBlock, isOutput: boolean): string {
  switch (block.kind) {
    case "text":
      return isOutput ? fence(block.text) : block.text;
    case "thinking":
      return `> _Thinking_\n>\n${block.text.replace(/^/gm, "> ")}`;
    case "tool-call":
      return `### Calls ${block.name}\n\n${fence(JSON.stringify(block.arguments, undefined, 2) ?? "", "json")}`;
    case "image":
      return `![picture](${block.source})`;
    case "error":
      return `> Error: ${block.text}`;
    default:
      return fence(block.json, "json");
  }
}

/** A block of code whose fence is longer than any within. */
function fence(text: string, language = ""): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const mark = "`".repeat(longest + 1);
  return `${mark}${language}\n${text.replace(/\n$/, "")}\n${mark}`;
}

/** Hands a text to the browser as a file to save. */
export function saveFile(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has begun to read it by then; the address is only a name for the bytes.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** A session's name as a name for files. */
export function toFileName(title: string, ending: string): string {
  const base = title
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 80)
    .toLowerCase();
  return `${base || "session"}.${ending}`;
}
