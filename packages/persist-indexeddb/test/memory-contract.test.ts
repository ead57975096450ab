import { describeUpdateLog } from "@coppice/testkit";
import { MemoryData } from "../src/memory-store.ts";

describeUpdateLog("memory", async () => {
  const data = new MemoryData();
  return { open: async () => data.open(), remove: async () => undefined };
});
