import type { AgentMessageLike, SessionEntry } from "@coppice/core";
import { cutToColumns, firstPrintableLine, toPrintableLine } from "./terminal-text.ts";

/** The end of an id, which `move` and `show --branch` accept; the beginning of a UUIDv7 is mostly time. */
export const shownIdChars = 8;

/** An entry as one line of a tree or a log. */
export interface EntryLine {
  /** Who speaks, one character: `u` user, `a` assistant, `t` tool result, `s` system, `b` shell command; others by their first letter. */
  readonly mark: string;
  /** First line of what it says, printable; never empty. */
  readonly text: string;
}

const markByRole: ReadonlyMap<string, string> = new Map([
  ["user", "u"],
  ["assistant", "a"],
  ["toolResult", "t"],
  ["system", "s"],
  ["bashExecution", "b"],
]);

/** What the marks mean, for `--help`. */
export const entryMarkNotes: readonly string[] = [
  "u user, a assistant, t tool result, s system, b shell command; another role by its first letter",
  "c a message of an extension, ≡ a summary, → a move, · a setting, a label or a name, ? a kind this version does not know",
];

const deviceColumns = 12;

/** Who wrote an entry, as a column of a list: the device's name, else the end of its id, `?` when nobody knows. */
export function describeAuthor(author: { deviceId: string; deviceName?: string } | undefined): string {
  const name = author === undefined ? "?" : (author.deviceName ?? author.deviceId.slice(-deviceColumns));
  return cutToColumns(toPrintableLine(name), deviceColumns).padEnd(deviceColumns);
}

/** When an entry was written, in UTC, as a column of a list. */
export function describeTime({ timestamp }: SessionEntry): string {
  return toPrintableLine(timestamp.slice(0, 19).replace("T", " "));
}

/** Whether a tree gives an entry a line of its own even when nobody stands on it: it takes part in the conversation. */
export function isConversationEntry(entry: SessionEntry): boolean {
  switch (entry.type) {
    case "message":
    case "compaction":
    case "branch_summary":
      return true;
    case "custom_message":
      return entry.display;
    default:
      return false;
  }
}

/** One line for any entry; kinds Coppice does not know show their type. */
export function describeEntry(entry: SessionEntry): EntryLine {
  switch (entry.type) {
    case "message":
      return { mark: markOfRole(entry.message.role), text: describeMessage(entry.message) };
    case "compaction":
      return { mark: "≡", text: `compacted: ${firstPrintableLine(entry.summary) || "(no summary)"}` };
    case "branch_summary":
      return { mark: "≡", text: `left a branch: ${firstPrintableLine(entry.summary) || "(no summary)"}` };
    case "custom_message":
      return { mark: "c", text: describeContent(entry.content) || `(${toPrintableLine(entry.customType)})` };
    case "model_change":
      return { mark: "·", text: toPrintableLine(`model ${entry.provider}/${entry.modelId}`) };
    case "thinking_level_change":
      return { mark: "·", text: toPrintableLine(`thinking ${entry.thinkingLevel}`) };
    case "active_tools_change":
      return { mark: "·", text: toPrintableLine(`tools ${entry.activeToolNames.join(", ") || "none"}`) };
    case "label":
      return { mark: "·", text: toPrintableLine(entry.label?.trim() ? `label ${entry.label}` : "label taken away") };
    case "session_info":
      return { mark: "·", text: toPrintableLine(entry.name?.trim() ? `name ${entry.name}` : "name cleared") };
    case "leaf":
      return {
        mark: "→",
        text:
          entry.targetId === null
            ? "moved before the first entry"
            : `moved to ${toPrintableLine(entry.targetId).slice(-shownIdChars)}`,
      };
    case "usage":
      return { mark: "·", text: toPrintableLine(`usage of ${entry.provider}/${entry.model}`) };
    case "context_edit":
      return { mark: "·", text: entry.replacement === null ? "left out of the context" : "edited in the context" };
    case "custom":
      return { mark: "·", text: toPrintableLine(`custom ${entry.customType}`) };
    default:
      return { mark: "?", text: toPrintableLine((entry as SessionEntry).type) || "(no type)" };
  }
}

/** First line of a message; falls back to its tool calls, its error, and at last to saying that it is empty. */
function describeMessage(message: AgentMessageLike): string {
  if (typeof message.command === "string") return firstPrintableLine(`$ ${message.command}`);
  const said = describeContent(message.content);
  if (message.role === "toolResult" && typeof message.toolName === "string") {
    return toPrintableLine(`${message.toolName}: ${said || "(no output)"}`);
  }
  if (said !== "") return said;
  if (typeof message.errorMessage === "string") return firstPrintableLine(`error: ${message.errorMessage}`);
  return "(empty)";
}

/** All text of a message's content, printable or not; parts that are not text are named in brackets. */
export function readContentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map(readPartText)
    .filter((text) => text !== "")
    .join("\n");
}

function describeContent(content: unknown): string {
  return firstPrintableLine(readContentText(content));
}

function readPartText(part: unknown): string {
  if (typeof part !== "object" || part === null) return "";
  const { type, text, name } = part as { type?: unknown; text?: unknown; name?: unknown };
  if (typeof text === "string") return text;
  if (type === "toolCall" && typeof name === "string") return `[calls ${name}]`;
  // What a model thinks is not what it says.
  if (type === "thinking") return "";
  return typeof type === "string" ? `[${type}]` : "";
}

function markOfRole(role: string): string {
  return markByRole.get(role) ?? (firstPrintableLine(role).slice(0, 1) || "?");
}
