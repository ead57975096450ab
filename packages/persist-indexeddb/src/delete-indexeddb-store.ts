import { logDatabaseName, registryName } from "./layout.ts";
import { deleteDatabase, requireFactory } from "./open-database.ts";
import { defaultOpenTimeoutMs, defaultStoreName, type IndexedDbStoreOptions } from "./open-indexeddb-store.ts";
import { Registry } from "./registry.ts";
import { describeError } from "./storage-errors.ts";

/**
 * Removes a store with all its databases, as when a device is given away. Stores of it that are open, here or in other
 * tabs, make way: their calls are refused with `storage` from then on, until they are opened anew. One that does not
 * exist is fine. Rejects with `storage` when a tab does not make way in time; the call may be repeated. SPEC IX10.
 */
export async function deleteIndexedDbStore(options: IndexedDbStoreOptions = {}): Promise<void> {
  const { name = defaultStoreName, openTimeoutMs = defaultOpenTimeoutMs } = options;
  const factory = requireFactory();
  try {
    const registry = await Registry.open(name, { factory, timeoutMs: openTimeoutMs });
    const logs = await registry.listLogs();
    await registry.close();
    await Promise.all(logs.map((log) => deleteDatabase(factory, logDatabaseName(name, log), openTimeoutMs)));
    // Last: it names the others, should this be interrupted.
    await deleteDatabase(factory, registryName(name), openTimeoutMs);
  } catch (error) {
    throw describeError(name, "deleted", error);
  }
}
