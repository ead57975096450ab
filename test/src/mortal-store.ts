import { SessionError, type UpdateLog, type UpdateStore } from "@coppice/core";

/** Whether the write that is the last one still reaches the disk. */
type LastWrite = "kept" | "lost";

/** A store of a process that is killed at one of its writes: from then on nothing of what it does reaches the disk. */
export interface MortalStore extends UpdateStore {
  /** The process dies at this write, counted from now, from 1. Settles when it has. */
  dieAt(write: number, last: LastWrite): Promise<void>;
}

/** Wraps a store whose other users live on. Derived data is not counted: it may be lost at any time. */
export function makeMortal(store: UpdateStore): MortalStore {
  let left = Number.POSITIVE_INFINITY;
  let lastWrite: LastWrite = "kept";
  let onDeath: () => void = () => undefined;
  const gone = (): never => {
    throw new SessionError("closed", "this process was killed");
  };
  const write = async <Value>(run: () => Promise<Value>): Promise<Value> => {
    if (left <= 0) return gone();
    left -= 1;
    if (left > 0) return run();
    try {
      if (lastWrite === "kept") await run();
      return gone();
    } finally {
      onDeath();
    }
  };
  const wrapLog = (log: UpdateLog): UpdateLog => ({
    append: (update) => write(() => log.append(update)),
    read: (after) => log.read(after),
    lastSeq: () => log.lastSeq(),
    replaceRange: (from, to, merged) => write(() => log.replaceRange(from, to, merged)),
    readDerived: (name) => log.readDerived(name),
    writeDerived: (name, data) => (left <= 0 ? Promise.resolve() : log.writeDerived(name, data)),
    onForeignAppend: (listener) => log.onForeignAppend(listener),
    close: () => log.close(),
  });
  return {
    dieAt: (at, last) =>
      new Promise((resolve) => {
        left = at;
        lastWrite = last;
        onDeath = resolve;
      }),
    openLog: async (name) => wrapLog(await store.openLog(name)),
    listLogs: () => store.listLogs(),
    deleteLog: (name) => write(() => store.deleteLog(name)),
    readValue: (key) => store.readValue(key),
    writeValue: (key, value) => write(() => store.writeValue(key, value)),
    onForeignChange: (listener) => store.onForeignChange(listener),
    close: async () => undefined,
  };
}
