import type { SessionEntry, SessionStorage } from "@coppice/core";
import { idsOf } from "./session-storage-under-test.ts";

/** What a storage says of its log, the leaf left out: every entry's place in the tree, labels, name, counts. */
export interface IndexReading {
  /** Exact texts, in log order. */
  readonly jsons: readonly (string | undefined)[];
  readonly rootIds: readonly string[];
  readonly tipIds: readonly string[];
  readonly name: string | undefined;
  readonly stats: Awaited<ReturnType<SessionStorage["getSessionStats"]>>;
  /** Ids by type, in log order. */
  readonly idsByType: Readonly<Record<string, readonly string[]>>;
  /** By id. A path is ids, root first, or the code of the error that asking for it gives. */
  readonly entries: Readonly<Record<string, EntryReading>>;
}

interface EntryReading {
  readonly label: string | undefined;
  readonly childIds: readonly string[];
  readonly path: readonly string[] | string;
  readonly contextPath: readonly string[] | string;
}

/** Asks a storage everything about its log: an index that grew must read as one that is rebuilt. */
export async function readIndex(storage: SessionStorage): Promise<IndexReading> {
  const all = await storage.getEntries();
  const entries: Record<string, EntryReading> = {};
  for (const { id } of all) {
    entries[id] = {
      label: await storage.getLabel(id),
      childIds: idsOf(await storage.getChildren(id)),
      path: await idsOrCode(storage.getPathToRoot(id)),
      contextPath: await idsOrCode(storage.getPathToRootOrCompaction(id)),
    };
  }
  const idsByType: Record<string, readonly string[]> = {};
  for (const type of new Set(all.map((entry) => entry.type))) idsByType[type] = idsOf(await storage.findEntries(type));
  return {
    jsons: await Promise.all(all.map(({ id }) => storage.getEntryJson(id))),
    rootIds: idsOf(await storage.getChildren(null)),
    tipIds: idsOf(await storage.getTips()),
    name: await storage.getSessionName(),
    stats: await storage.getSessionStats(),
    idsByType,
    entries,
  };
}

/** The ids of a path, or the code of the error that reading it gives. */
export async function idsOrCode(path: Promise<SessionEntry[]>): Promise<string[] | string> {
  return path.then(idsOf, (error: { code: string }) => error.code);
}
