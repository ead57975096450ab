import type { AgentMessageLike, SessionEntry } from "@coppice/core";
import { describeEntry, readContentText } from "./entry-line.ts";
import { toPrintableLine, toPrintableText } from "./terminal-text.ts";

/** One turn of a transcript. */
export interface TranscriptPart {
  /** Who speaks, and with what. */
  readonly heading: string;
  /** What is said; may be empty. */
  readonly text: string;
}

// Enough to see what a tool answered; the whole text is in `--json` and in the session itself.
const maxToolLines = 12;

/** The entries of a branch as a transcript; kinds that are not part of the conversation become a heading alone. */
export function entriesToTranscript(entries: readonly SessionEntry[]): TranscriptPart[] {
  return entries
    .filter((entry) => entry.type !== "leaf" && entry.type !== "label")
    .map((entry) => {
      if (entry.type === "message") return messageToPart(entry.message);
      if (entry.type === "custom_message") {
        return { heading: toPrintableLine(entry.customType), text: toPrintableText(readContentText(entry.content)) };
      }
      if (entry.type === "compaction") return { heading: "compacted", text: toPrintableText(entry.summary) };
      if (entry.type === "branch_summary") return { heading: "left a branch", text: toPrintableText(entry.summary) };
      return { heading: describeEntry(entry).text, text: "" };
    });
}

/** The messages a model would be sent as a transcript. */
export function messagesToTranscript(messages: readonly AgentMessageLike[]): TranscriptPart[] {
  return messages.map(messageToPart);
}

/** Draws a transcript: a ruled heading per turn, its text below, a blank line between turns. */
export function renderTranscript(parts: readonly TranscriptPart[]): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    if (lines.length > 0 && part.text !== "") lines.push("");
    lines.push(`── ${part.heading}`);
    if (part.text !== "") lines.push(...part.text.split("\n"));
  }
  return lines;
}

function messageToPart(message: AgentMessageLike): TranscriptPart {
  const { role, toolName, command, output, summary, errorMessage } = message;
  const texts = [readContentText(message.content)];
  for (const more of [summary, output]) if (typeof more === "string") texts.push(more);
  if (typeof errorMessage === "string") texts.push(`error: ${errorMessage}`);
  const text = toPrintableText(texts.filter((part) => part !== "").join("\n"));
  if (typeof command === "string")
    return { heading: `${toPrintableLine(role)} $ ${toPrintableLine(command)}`, text: cutLines(text) };
  if (role !== "toolResult") return { heading: toPrintableLine(role), text };
  return {
    heading: `tool ${typeof toolName === "string" ? toPrintableLine(toolName) : "result"}`,
    text: cutLines(text),
  };
}

function cutLines(text: string): string {
  const lines = text.split("\n");
  if (lines.length <= maxToolLines) return text;
  return [...lines.slice(0, maxToolLines), `… ${lines.length - maxToolLines} more lines`].join("\n");
}
