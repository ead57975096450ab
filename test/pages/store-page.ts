/** A page over the browser's store: with it alone, with the client, and with stock y-indexeddb. */
import { openWorkspace } from "@coppice/client";
import type { SessionError, UpdateLog, UpdateStore } from "@coppice/core";
import {
  deleteIndexedDbStore,
  openBrowserStore,
  openIndexedDbStore,
  requestPersistence,
  warnBeforeUnload,
} from "@coppice/persist-indexeddb";
import { IndexeddbPersistence, storeState } from "y-indexeddb";
import * as Y from "yjs";

/** Every connection that this page has opened, as browsers may close them at any time. */
const connections: IDBDatabase[] = [];
const openDatabase = IDBFactory.prototype.open;
IDBFactory.prototype.open = function (...args: Parameters<IDBFactory["open"]>): IDBOpenDBRequest {
  const request = openDatabase.apply(this, args);
  request.addEventListener("success", () => connections.push(request.result));
  return request;
};

const kept = new WeakMap<Y.Doc, IndexeddbPersistence>();
const { add } = IDBObjectStore.prototype;

const page = {
  ...{
    openWorkspace,
    deleteIndexedDbStore,
    openBrowserStore,
    openIndexedDbStore,
    requestPersistence,
    warnBeforeUnload,
  },
  ...{ IndexeddbPersistence, Y },
  /** What a test keeps from one call to the next. */
  kept: {} as { store: UpdateStore; log: UpdateLog; heard: number[] },

  /** A document that stock y-indexeddb keeps in a database, loaded; `stop` waits until what it has written is there. */
  async openStock(name: string): Promise<{ doc: Y.Doc; stop(): Promise<void> }> {
    const doc = new Y.Doc();
    const stock = new IndexeddbPersistence(name, doc);
    await stock.whenSynced;
    kept.set(doc, stock);
    return {
      doc,
      stop: async () => {
        // Its own writes are behind this one.
        await stock.set("stopped", 1);
        await stock.destroy();
      },
    };
  },

  /** Has stock y-indexeddb trim what it has kept. */
  async storeState(doc: Y.Doc): Promise<void> {
    const stock = kept.get(doc);
    if (stock === undefined) throw new Error("this document is not kept by stock y-indexeddb");
    await storeState(stock, true);
  },

  /** As where the origin has used up its space: browsers refuse what is added, and the transaction with it. */
  limitSpace(isFull: boolean): void {
    IDBObjectStore.prototype.add = isFull
      ? () => {
          throw new DOMException("The quota has been exceeded.", "QuotaExceededError");
        }
      : add;
  },

  closeAllConnections(): void {
    for (const connection of connections.splice(0)) connection.close();
  },

  /** First bytes of what a log holds. */
  async read(log: UpdateLog): Promise<[seq: number, byte: number | undefined][]> {
    const stored: [number, number | undefined][] = [];
    for await (const { seq, update } of log.read()) stored.push([seq, update[0]]);
    return stored;
  },

  /** The code of the error that a call rejects with; undefined when it does not. */
  async codeOf(call: Promise<unknown>): Promise<string | undefined> {
    try {
      await call;
      return undefined;
    } catch (error) {
      return (error as SessionError).code ?? String(error);
    }
  },
};

export type StorePage = typeof page;
Object.assign(globalThis, { page });
