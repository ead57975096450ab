import type { SessionNode, SessionTreeView, SharedSession } from "@coppice/client";
import { SessionError } from "@coppice/core";
import { toArchiveLabel } from "../model/archived-branches.ts";
import { replaceText } from "../model/message-blocks.ts";

/** Moves this device to an entry (null: before the first): what is written next goes on from there. */
export async function moveHere(session: SharedSession, entryId: string | null): Promise<void> {
  await session.session.moveTo(entryId);
}

/** Appends what a person says where this device stands. Returns the new entry's id. */
export function writeMessage(session: SharedSession, text: string): Promise<string> {
  return session.session.appendMessage({ role: "user", content: text, timestamp: Date.now() });
}

/**
 * Says a user's message anew beside the old one: moves to before it and appends it with another text, pictures kept.
 * Returns the new entry's id; rejects `invalid_entry` for any other entry.
 */
export async function branchWithEdit(session: SharedSession, entryId: string, text: string): Promise<string> {
  const entry = await session.storage.getEntry(entryId);
  const node = session.tree.get(entryId);
  if (node === undefined || entry?.type !== "message" || entry.message.role !== "user")
    throw new SessionError("invalid_entry", `Entry ${entryId} is not a message of a person`);
  const content = replaceText(entry.message.content, text);
  // Neither waits for the other to be asked for: nothing this page appends can come in between.
  const moved = session.session.moveTo(findEntryBefore(session.tree, node));
  const written = session.session.appendMessage({ ...entry.message, content, timestamp: Date.now() });
  const [, id] = await Promise.all([moved, written]);
  return id;
}

/** What an entry goes on from; records of moves are passed over. */
function findEntryBefore(tree: SessionTreeView, node: SessionNode): string | null {
  let above = tree.parentOf(node);
  while (above?.type === "leaf") above = tree.parentOf(above);
  return above?.id ?? null;
}

/** Names an entry for everybody; blank takes the name away. */
export async function labelEntry(session: SharedSession, entryId: string, label: string): Promise<void> {
  await session.session.appendLabel(entryId, label.trim() || undefined);
}

/** Puts the branch that begins with an entry away for everybody, or takes it out again (SPEC WB58). */
export async function archiveBranch(session: SharedSession, headId: string, archived: boolean): Promise<void> {
  await session.session.appendContent({ type: "label", ...toArchiveLabel(headId, archived) });
}
