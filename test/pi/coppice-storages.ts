import type { SessionStorage } from "@coppice/core";

/** A session on one kind of storage, as the example makes it. */
export interface StoragePlace {
  /** The storage that is open now. */
  readonly storage: SessionStorage;
  /** Closes it and reads the same session again from where it is kept. */
  reopen(): Promise<SessionStorage>;
  /** Settles when everything appended is kept. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

// By name, because a plain script has no types of its own.
const storageModule = "@coppice/example-pi-harness/storage.mjs";

/** The storages of the example, which users of pi's harness start from: kinds, and a new session on one. */
export const {
  createStorage,
  storageKinds,
}: {
  createStorage(kind: string): Promise<StoragePlace>;
  storageKinds: string[];
} = await import(storageModule);
