export { deleteIndexedDbStore } from "./delete-indexeddb-store.ts";
export { openMemoryStore } from "./memory-store.ts";
export type { BrowserStore } from "./open-browser-store.ts";
export { openBrowserStore, requestPersistence, warnBeforeUnload } from "./open-browser-store.ts";
export type { IndexedDbStoreOptions } from "./open-indexeddb-store.ts";
export { openIndexedDbStore } from "./open-indexeddb-store.ts";
