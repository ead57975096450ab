import type { SessionEntry } from "@coppice/core";

/** A user's message; the id is what it says. */
export function userEntry(id: string, parentId: string | null, text: string = id): SessionEntry {
  return messageEntry("user", id, parentId, text);
}

/** An assistant's message. */
export function assistantEntry(id: string, parentId: string | null, text: string = id): SessionEntry {
  return messageEntry("assistant", id, parentId, text);
}

/** A message of any role. */
export function messageEntry(role: string, id: string, parentId: string | null, text: string): SessionEntry {
  const message = { role, content: [{ type: "text", text }] };
  return { type: "message", id, parentId, timestamp: "2026-12-01T10:00:00.000Z", message };
}

/** An entry that is not part of the conversation. */
export function modelEntry(id: string, parentId: string | null): SessionEntry {
  const timestamp = "2026-12-01T10:00:00.000Z";
  return { type: "model_change", id, parentId, timestamp, provider: "openrouter", modelId: "some/model" };
}
