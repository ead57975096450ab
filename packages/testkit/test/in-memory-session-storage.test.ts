import { InMemorySessionStorage } from "@coppice/core";
import { describeSessionStorage } from "../src/index.ts";

/** Memory is where this storage keeps a session, so what is read again are the texts in it. */
class ReopenableStorage extends InMemorySessionStorage {
  async reopen(): Promise<ReopenableStorage> {
    await this.close();
    const lines = this.tree.allNodes().map((node) => this.readJson(node));
    return new ReopenableStorage({ metadata: await this.getMetadata(), lines });
  }
}

describeSessionStorage("in memory", async () => {
  let open = new ReopenableStorage();
  return {
    storage: open,
    reopen: async () => {
      open = await open.reopen();
      return open;
    },
    close: () => open.close(),
  };
});
