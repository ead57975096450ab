import { type AgentMessageLike, findPayloadFault, type SessionEntry } from "@coppice/core";
import { readArchiveTarget } from "./archived-branches.ts";
import { firstShownLine, toShownLine } from "./shown-text.ts";

/** An entry as one line of a tree or a log. */
export interface EntryWords {
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

/** The end of an id, enough to tell entries apart. */
export const shownIdChars = 8;

/** One line for any entry, in the words of `coppice log` (SPEC WB64); kinds Coppice does not know show their type. */
export function describeEntry(entry: SessionEntry): EntryWords {
  if (findPayloadFault(entry) !== undefined) return { mark: "?", text: `${toShownLine(entry.type)} (damaged)` };
  switch (entry.type) {
    case "message":
      return { mark: markOfRole(entry.message.role), text: describeMessage(entry.message) };
    case "compaction":
      return { mark: "≡", text: `compacted: ${firstShownLine(entry.summary) || "(no summary)"}` };
    case "branch_summary":
      return { mark: "≡", text: `left a branch: ${firstShownLine(entry.summary) || "(no summary)"}` };
    case "custom_message":
      return {
        mark: "c",
        text: firstShownLine(readContentText(entry.content)) || `(${toShownLine(entry.customType)})`,
      };
    case "model_change":
      return { mark: "·", text: toShownLine(`model ${entry.provider}/${entry.modelId}`) };
    case "thinking_level_change":
      return { mark: "·", text: toShownLine(`thinking ${entry.thinkingLevel}`) };
    case "active_tools_change":
      return { mark: "·", text: toShownLine(`tools ${entry.activeToolNames.join(", ") || "none"}`) };
    case "label":
      return { mark: "·", text: describeLabel(entry.targetId, entry.label) };
    case "session_info":
      return { mark: "·", text: toShownLine(entry.name?.trim() ? `name ${entry.name}` : "name cleared") };
    case "leaf":
      return { mark: "→", text: describeMove(entry.targetId) };
    case "usage":
      return { mark: "·", text: toShownLine(`usage of ${entry.provider}/${entry.model}`) };
    case "context_edit":
      return { mark: "·", text: entry.replacement === null ? "left out of the context" : "edited in the context" };
    case "custom":
      return { mark: "·", text: toShownLine(`custom ${entry.customType}`) };
    default:
      return { mark: "?", text: toShownLine((entry as SessionEntry).type) || "(no type)" };
  }
}

/** What moving to an entry is called. */
export function describeMove(targetId: string | null | undefined): string {
  if (typeof targetId !== "string") return "moved before the first entry";
  return `moved to ${toShownLine(targetId).slice(-shownIdChars)}`;
}

function describeLabel(targetId: string, label: string | undefined): string {
  const isSet = Boolean(label?.trim());
  if (readArchiveTarget(targetId) !== undefined) return isSet ? "branch archived" : "branch taken out of the archive";
  return toShownLine(isSet ? `label ${label}` : "label taken away");
}

/** First line of a message; falls back to its tool calls, its error, and at last to saying that it is empty. */
function describeMessage(message: AgentMessageLike): string {
  if (typeof message.command === "string") return firstShownLine(`$ ${message.command}`);
  const said = firstShownLine(readContentText(message.content));
  if (message.role === "toolResult" && typeof message.toolName === "string")
    return toShownLine(`${message.toolName}: ${said || "(no output)"}`);
  if (said !== "") return said;
  if (typeof message.errorMessage === "string") return firstShownLine(`error: ${message.errorMessage}`);
  return "(empty)";
}

/** All text of a message's content, as it is; parts that are not text are named in brackets. */
export function readContentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map(readPartText)
    .filter((text) => text !== "")
    .join("\n");
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
  return markByRole.get(role) ?? (firstShownLine(role).slice(0, 1) || "?");
}
