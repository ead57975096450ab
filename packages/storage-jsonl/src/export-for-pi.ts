/**
 * Writes a session as pi's programs read it. They agree on format 3 and differ in one thing: pi-agent-core (0.75-0.80)
 * takes the leaf from `leaf` entries, pi-coding-agent (1.x) knows none and takes the last line of the file.
 */
import { entryToTreeNode, type SessionEntry, SessionError, type SessionStorage, SessionTree } from "@coppice/core";
import { deriveId } from "./derived-id.ts";
import { canStandLast, createLeafMarker, leaveOutLeafEntries, readExportHeader } from "./pi-lines.ts";

/** What an export may be given. */
export interface ExportForPiOptions {
  /** The entry the reader is to stand on; null: before the first. Default: the storage's leaf. */
  readonly leafId?: string | null;
  /** The folder the session belongs to, when its metadata names none. Default `/`. */
  readonly cwd?: string;
}

/**
 * The lines, each with its line break, of a file that pi-coding-agent 1.x opens at the leaf with the same context.
 * Entries keep their exact texts. `leaf` entries are left out, except those that other entries continue. The leaf
 * comes last; where it has children, or where its place decides about a label or the name, an entry of type `custom`
 * below it does, whose id depends only on the session's state. Rejects with `not_found` for an unknown leaf.
 * Rules JL50-JL53.
 */
export async function* exportForPi(
  storage: SessionStorage,
  options: ExportForPiOptions = {},
): AsyncGenerator<string, void, void> {
  const { header, entries, leaf } = await readForExport(storage, options);
  yield header;

  const kept = leaveOutLeafEntries(entries, leaf);
  const continuedIds = new Set(kept.map((entry) => entry.parentId));
  const isLast = leaf !== null && kept.at(-1)?.id === leaf.id;
  const canBeLast = leaf !== null && canStandLast(leaf, continuedIds);
  for (const entry of kept) {
    if (isLast || !canBeLast || entry.id !== leaf.id) yield* readLine(storage, entry);
  }
  if (isLast || kept.length === 0) return;
  if (canBeLast) yield* readLine(storage, leaf);
  else yield toLine(createLeafMarker((await storage.getMetadata()).id, kept.at(-1), leaf?.id ?? null));
}

/**
 * The lines, each with its line break, of a file that pi-agent-core 0.75-0.80 opens at the leaf: every entry in log
 * order with its exact text, and a `leaf` entry at the end when the last one leads elsewhere. Rejects with `not_found`
 * for an unknown leaf. Rule JL54.
 */
export async function* exportForPiAgentCore(
  storage: SessionStorage,
  options: ExportForPiOptions = {},
): AsyncGenerator<string, void, void> {
  const { header, entries, leaf } = await readForExport(storage, options);
  yield header;
  for (const entry of entries) yield* readLine(storage, entry);
  const last = entries.at(-1);
  const leafId = leaf?.id ?? null;
  const replayedId = last === undefined ? null : new SessionTree().leafEffect(entryToTreeNode(last));
  if (last === undefined || replayedId === leafId) return;
  const { id: sessionId } = await storage.getMetadata();
  const id = deriveId("coppice/leaf-entry/1", sessionId, last.id, leafId ?? "");
  yield toLine({ type: "leaf", id, parentId: replayedId, timestamp: last.timestamp, targetId: leafId });
}

interface SessionForExport {
  readonly header: string;
  readonly entries: readonly SessionEntry[];
  readonly leaf: SessionEntry | null;
}

async function readForExport(storage: SessionStorage, options: ExportForPiOptions): Promise<SessionForExport> {
  const { leafId = await storage.getLeafId() } = options;
  const leaf = leafId === null ? null : await storage.getEntry(leafId);
  if (leaf === undefined) throw new SessionError("not_found", `Entry ${leafId} not found`);
  const header = `${await readExportHeader(storage, (recorded) => recorded || options.cwd || "/")}\n`;
  return { header, entries: await storage.getEntries(), leaf };
}

async function* readLine(storage: SessionStorage, entry: SessionEntry): AsyncGenerator<string, void, void> {
  const json = await storage.getEntryJson(entry.id);
  if (json !== undefined) yield `${json}\n`;
}

function toLine(entry: SessionEntry): string {
  return `${JSON.stringify(entry)}\n`;
}
