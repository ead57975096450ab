/** What files for pi-coding-agent have in common, whether they are made anew or grow: header, entries, leaf marker. */
import type { SessionEntry, SessionStorage } from "@coppice/core";
import { createHeaderJson } from "./create-session-file.ts";
import { deriveId } from "./derived-id.ts";
import { CURRENT_FILE_VERSION } from "./line-migration.ts";

/** Type of the entry that stands for a leaf which no last line can express. pi keeps it and shows the model nothing. */
export const LEAF_MARKER_TYPE = "coppice/leaf";

/**
 * The storage's own header where it has one, so that fields Coppice does not know go along; without line break. The cwd
 * is what `chooseCwd` makes of the one that was recorded.
 */
export async function readExportHeader(
  storage: SessionStorage,
  chooseCwd: (recorded: string | undefined) => string,
): Promise<string> {
  const metadata = await storage.getMetadata();
  const cwd = chooseCwd(metadata.cwd);
  const headerJson = storage.getHeaderJson?.();
  if (headerJson === undefined) return createHeaderJson({ ...metadata, cwd });
  const fields: Record<string, unknown> = JSON.parse(headerJson);
  const isExportable = fields.cwd === cwd && fields.version === CURRENT_FILE_VERSION && !/[\r\n]/.test(headerJson);
  return isExportable ? headerJson : JSON.stringify({ ...fields, version: CURRENT_FILE_VERSION, cwd });
}

/** Entries without the `leaf` entries, except those on the way from another entry to its root. */
export function leaveOutLeafEntries(entries: readonly SessionEntry[], leaf: SessionEntry | null): SessionEntry[] {
  const leafEntryById = new Map(entries.filter((entry) => entry.type === "leaf").map((entry) => [entry.id, entry]));
  const neededIds = new Set<string | null>();
  for (const entry of entries) {
    if (entry.type === "leaf" && entry.id !== leaf?.id) continue;
    neededIds.add(entry.id);
    // Ends also in a cycle: what is needed already has been followed up.
    for (let id = entry.parentId; id !== null && !neededIds.has(id); ) {
      const above = leafEntryById.get(id);
      if (above === undefined) break;
      neededIds.add(id);
      id = above.parentId;
    }
  }
  return entries.filter((entry) => neededIds.has(entry.id));
}

/**
 * Whether an entry can be put at the end of a file, so that pi stands on it: nothing continues it, and its place does not
 * decide about a label or the name, of which the last line counts.
 */
export function canStandLast({ id, type }: SessionEntry, continuedIds: ReadonlySet<string | null>): boolean {
  return !continuedIds.has(id) && type !== "label" && type !== "session_info";
}

/**
 * The entry that stands below the leaf for it, behind the last entry of a file. The same state gives the same entry, so
 * that writing and importing again and again adds nothing.
 */
export function createLeafMarker(
  sessionId: string,
  last: Pick<SessionEntry, "id" | "timestamp"> | undefined,
  leafId: string | null,
): SessionEntry {
  return {
    type: "custom",
    id: deriveId("coppice/leaf-marker/1", sessionId, last?.id ?? "", leafId ?? ""),
    parentId: leafId,
    timestamp: last?.timestamp ?? "",
    customType: LEAF_MARKER_TYPE,
  };
}
