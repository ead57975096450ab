import { SessionError, type UpdateStore } from "@coppice/core";
import { openMemoryStore } from "./memory-store.ts";
import { type IndexedDbStoreOptions, openIndexedDbStore } from "./open-indexeddb-store.ts";

/** A store in a browser, and whether what it keeps outlives the page. */
export type BrowserStore =
  | { readonly store: UpdateStore; readonly isDurable: true }
  | {
      readonly store: UpdateStore;
      /** False: everything is gone with the page. An app says so ("not saved here"), and warns before it is left. */
      readonly isDurable: false;
      /** Why: `storage`, or `storage_full`; its message may be shown. */
      readonly reason: SessionError;
    };

/**
 * Opens the store of this origin, or one in memory where the browser has no storage (a private window, a setting, a full
 * disk): the client then works and syncs as ever, and what the relay has is safe. Rejects with `version_mismatch` alone:
 * what a newer version wrote must not be passed over. SPEC IX8.
 */
export async function openBrowserStore(options: IndexedDbStoreOptions = {}): Promise<BrowserStore> {
  try {
    return { store: await openIndexedDbStore(options), isDurable: true };
  } catch (error) {
    if (!(error instanceof SessionError) || error.code === "version_mismatch") throw error;
    return { store: openMemoryStore(), isDurable: false, reason: error };
  }
}

/**
 * Asks the browser not to remove this origin's data when space runs short, which it otherwise may, all of it at once.
 * `granted`: it will not; `refused`: it may (browsers decide by how much a site is used, some ask the user);
 * `unsupported`: it cannot be asked. Never rejects.
 */
export async function requestPersistence(): Promise<"granted" | "refused" | "unsupported"> {
  const storage = (globalThis.navigator as Partial<Navigator> | undefined)?.storage as
    | Partial<StorageManager>
    | undefined;
  if (storage?.persist === undefined) return "unsupported";
  try {
    const isKept = (await storage.persisted?.()) || (await storage.persist());
    return isKept ? "granted" : "refused";
  } catch {
    return "refused"; // as where storage is blocked: asked, and not granted
  }
}

/**
 * Has the browser ask before this page is left, as long as `isAtRisk` says so: something is not durable here and not at
 * the relay either. Browsers ask only on pages that were touched. Returns the function that stops it.
 */
export function warnBeforeUnload(isAtRisk: () => boolean): () => void {
  const ask = (event: BeforeUnloadEvent): void => {
    if (!isAtRisk()) return;
    event.preventDefault();
    event.returnValue = true; // what some browsers look at instead
  };
  addEventListener("beforeunload", ask);
  return () => removeEventListener("beforeunload", ask);
}
