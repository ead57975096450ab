export type { LmdbStoreOptions } from "./lmdb-store.ts";
export { openLmdbStore } from "./lmdb-store.ts";
