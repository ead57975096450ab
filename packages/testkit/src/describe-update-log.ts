import { describe } from "vitest";
import { testUpdateAppends } from "./update-log-appends.ts";
import { testUpdateHandles } from "./update-log-handles.ts";
import { testUpdateMerges } from "./update-log-merges.ts";
import { testUpdateNames } from "./update-log-names.ts";
import type { UpdateStoreFactory } from "./update-store-under-test.ts";

/**
 * Runs the whole contract of `UpdateStore` and `UpdateLog` against a store, reopening and a second open store over the
 * same data included. No case can be left out. SPEC UL1-UL17.
 */
export function describeUpdateLog(name: string, factory: UpdateStoreFactory): void {
  describe(`UpdateLog contract: ${name}`, () => {
    testUpdateAppends(factory);
    testUpdateMerges(factory);
    testUpdateNames(factory);
    testUpdateHandles(factory);
  });
}
