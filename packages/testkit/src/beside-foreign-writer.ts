import type { GetEntriesOptions, SessionChange, SessionEntry, SessionStorage } from "@coppice/core";
import { type ForeignWriter, isForeignId } from "./foreign-writer.ts";

/**
 * A storage whose session a foreign writer uses at the same time: it starts an entry before and after every write and
 * every move here. What reads list is cut down to the entries that are not the foreign writer's; leaf, branches,
 * contexts, labels, name and statistics are passed on as they are, so any influence of it shows.
 */
export function besideForeignWriter(storage: SessionStorage, writer: ForeignWriter): SessionStorage {
  const beside = <Result>(write: () => Promise<Result>): Promise<Result> => {
    writer.write();
    // Not awaited in between: calls must reach the storage in the order they are made.
    const result = write();
    writer.write();
    return result;
  };
  const listOwn = async <Entry extends SessionEntry>(entries: Promise<Entry[]>): Promise<Entry[]> =>
    (await entries).filter(({ id }) => !isForeignId(id));
  return {
    getMetadata: () => storage.getMetadata(),
    getHeaderJson: () => storage.getHeaderJson?.(),
    getLeafId: () => storage.getLeafId(),
    setLeafId: (leafId) => beside(() => storage.setLeafId(leafId)),
    createEntryId: () => storage.createEntryId(),
    appendEntry: (entry) => beside(() => storage.appendEntry(entry)),
    appendJson: (lines) => beside(() => storage.appendJson(lines)),
    appendBatch: (lines, options) => beside(() => storage.appendBatch(lines, options)),
    getEntry: (id) => storage.getEntry(id),
    getEntryJson: (id) => storage.getEntryJson(id),
    getLabel: (id) => storage.getLabel(id),
    getPathToRoot: (leafId) => storage.getPathToRoot(leafId),
    getPathToRootOrCompaction: (leafId) => storage.getPathToRootOrCompaction(leafId),
    getSessionStats: () => storage.getSessionStats(),
    getSessionName: () => storage.getSessionName(),
    findEntries: (type) => listOwn(storage.findEntries(type)),
    getChildren: (id) => listOwn(storage.getChildren(id)),
    getTips: () => listOwn(storage.getTips()),
    getEntries: (options) => listOwnEntries(storage, listOwn, options),
    subscribe: (listener) =>
      storage.subscribe((change) => {
        const own = cutDown(change);
        if (own !== undefined) listener(own);
      }),
    close: () => storage.close(),
  };
}

/** `afterEntrySeq` and `limit` count the entries that are left. */
async function listOwnEntries(
  storage: SessionStorage,
  listOwn: (entries: Promise<SessionEntry[]>) => Promise<SessionEntry[]>,
  { afterEntrySeq, limit }: GetEntriesOptions = {},
): Promise<SessionEntry[]> {
  const isByArrival = afterEntrySeq !== undefined;
  const own = await listOwn(storage.getEntries(isByArrival ? { afterEntrySeq: 0 } : {}));
  const first = afterEntrySeq ?? 0;
  return own.slice(first, limit === undefined ? undefined : first + limit);
}

/** Undefined when nothing of the change is left. */
function cutDown(change: SessionChange): SessionChange | undefined {
  const added = change.added.filter(({ id }) => !isForeignId(id));
  return added.length === 0 && change.conflicts === undefined ? undefined : { ...change, added };
}
