export type { BackupOptions } from "./back-up-store.ts";
export { backUpLmdbStore } from "./back-up-store.ts";
export type { LmdbStoreOptions } from "./lmdb-store.ts";
export { openLmdbStore } from "./lmdb-store.ts";
export { makeFolder } from "./make-folder.ts";
