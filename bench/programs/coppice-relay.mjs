/** Coppice's relay on LMDB, as `coppice serve` runs it: what it forwards or acknowledges is on the disk. */
import { join } from "node:path";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay } from "@coppice/relay";
import { hostRelay } from "./host-relay.mjs";

const store = await openLmdbStore({ path: join(process.argv[2], "store") });
const relay = await openRelay({ store, auth: "open" });
hostRelay({
  url: relay.url,
  close: async () => {
    await relay.close();
    await store.close();
  },
});
