import { describe } from "vitest";
import { testAppends } from "./session-storage-appends.ts";
import { testBatches } from "./session-storage-batches.ts";
import { testRandomOperations } from "./session-storage-model.ts";
import { testQueries } from "./session-storage-queries.ts";
import { testSubscriptions } from "./session-storage-subscriptions.ts";
import type { SessionStorageFactory } from "./session-storage-under-test.ts";
import { testWalk } from "./session-walk.ts";

/**
 * Runs the whole contract of `SessionStorage` against a storage, reopening included. No case can be left out: what the
 * suite asks for is what users of any storage rely on.
 */
export function describeSessionStorage(name: string, factory: SessionStorageFactory): void {
  describe(`SessionStorage contract: ${name}`, () => {
    testAppends(factory);
    testBatches(factory);
    testSubscriptions(factory);
    testQueries(factory);
    testWalk(factory);
    testRandomOperations(factory);
  });
}
