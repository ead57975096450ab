import "fake-indexeddb/auto";
import { openIndexedDbStore } from "@coppice/persist-indexeddb";
import { describeUpdateLog } from "@coppice/testkit";

let count = 0;

describeUpdateLog("fake IndexedDB", async () => {
  const name = `contract-${count++}`;
  return { open: () => openIndexedDbStore({ name }), remove: async () => undefined };
});
