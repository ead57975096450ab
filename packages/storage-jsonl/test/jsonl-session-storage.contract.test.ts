import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeSessionStorage } from "@coppice/testkit";
import { JsonlSessionStorage } from "../src/index.ts";

describeSessionStorage("JsonlSessionStorage", async () => {
  const folder = await mkdtemp(join(tmpdir(), "coppice-jsonl-"));
  const path = join(folder, "session.jsonl");
  let opened = await JsonlSessionStorage.create(path, { cwd: "/work" });
  return {
    storage: opened,
    reopen: async () => {
      await opened.close();
      opened = await JsonlSessionStorage.open(path, { strict: true });
      return opened;
    },
    close: async () => {
      await opened.close();
      await rm(folder, { recursive: true });
    },
  };
});
