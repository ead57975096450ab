import { SessionError, type UpdateLog, type UpdateStore } from "@coppice/core";

/** A store that takes so many bytes of updates; real engines count what was deleted too, until they compact. */
export interface QuotaStore extends UpdateStore {
  /** Bytes of updates that may still be appended. */
  leftBytes: number;
}

/** Wraps a store with a quota. Reading, values and derived data go on, as under a browser's quota they mostly do. */
export function limitStore(store: UpdateStore, leftBytes: number): QuotaStore {
  const wrapLog = (log: UpdateLog): UpdateLog => ({
    async append(update) {
      if (update.length > limited.leftBytes) throw new SessionError("storage_full", "The quota is used up.");
      limited.leftBytes -= update.length;
      return log.append(update);
    },
    read: (after) => log.read(after),
    lastSeq: () => log.lastSeq(),
    replaceRange: (from, to, merged) => log.replaceRange(from, to, merged),
    readDerived: (name) => log.readDerived(name),
    writeDerived: (name, data) => log.writeDerived(name, data),
    onForeignAppend: (listener) => log.onForeignAppend(listener),
    close: () => log.close(),
  });
  const limited: QuotaStore = {
    leftBytes,
    openLog: async (name) => wrapLog(await store.openLog(name)),
    listLogs: () => store.listLogs(),
    deleteLog: (name) => store.deleteLog(name),
    readValue: (key) => store.readValue(key),
    writeValue: (key, value) => store.writeValue(key, value),
    onForeignChange: (listener) => store.onForeignChange(listener),
    close: async () => undefined,
  };
  return limited;
}
