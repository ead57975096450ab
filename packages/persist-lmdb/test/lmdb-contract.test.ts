import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { describeUpdateLog } from "@coppice/testkit";

describeUpdateLog("LMDB", async () => {
  const folder = await mkdtemp(join(tmpdir(), "coppice-persist-lmdb-"));
  return {
    open: () => openLmdbStore({ path: join(folder, "store") }),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
});
