import { deleteIndexedDbStore, openIndexedDbStore } from "@coppice/persist-indexeddb";
import { describeUpdateLog } from "@coppice/testkit";

let count = 0;

describeUpdateLog("IndexedDB of Chromium", async () => {
  const name = `contract-${count++}`;
  return { open: () => openIndexedDbStore({ name }), remove: () => deleteIndexedDbStore({ name }) };
});
