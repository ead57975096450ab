import type { AgentMessageLike } from "./entries.ts";
import { isObject } from "./json-shape.ts";

/**
 * One system message in place of all those in a context, as pi 1.6 writes it into a compaction: their texts joined by
 * blank lines, prompt sections as the later messages left them (null removes one), the tools that are there in the end.
 * Undefined when there is none. `timestamp` in milliseconds since 1970.
 */
export function foldSystemMessages(
  messages: readonly AgentMessageLike[],
  timestamp: number,
): AgentMessageLike | undefined {
  const texts: string[] = [];
  const sections = new Map<string, unknown>();
  const tools = new Map<unknown, unknown>();
  const systemMessages = messages.filter((message) => message.role === "system");
  if (systemMessages.length === 0) return undefined;
  for (const message of systemMessages) {
    const text = readText(message.content);
    if (text !== "") texts.push(text);
    for (const [name, section] of Object.entries(isObject(message.sections) ? message.sections : {})) {
      if (section === null) sections.delete(name);
      else sections.set(name, section);
    }
    for (const tool of readObjects(message.toolsRemoved)) tools.delete(tool.name);
    for (const tool of readObjects(message.toolsAdded)) tools.set(tool.name, tool);
  }
  return {
    role: "system",
    content: texts.join("\n\n"),
    ...(sections.size === 0 ? {} : { sections: Object.fromEntries(sections) }),
    ...(tools.size === 0 ? {} : { toolsAdded: [...tools.values()] }),
    timestamp,
  };
}

/** The text of a message's content; several blocks are lines. */
function readText(content: unknown): string {
  if (typeof content === "string") return content;
  return readObjects(content)
    .filter((block) => block.type === "text")
    .map((block) => String(block.text))
    .join("\n");
}

function readObjects(list: unknown): Record<string, unknown>[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}
