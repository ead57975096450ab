/** A relay in a process of its own, so that it can be killed: `node relay-process.js DATA_DIR PORT`. Tells its URL to the parent. */
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay } from "@coppice/relay";

const [dataDir, port] = process.argv.slice(2);
if (dataDir === undefined || port === undefined) throw new Error("usage: relay-process.js DATA_DIR PORT");
const store = await openLmdbStore({ path: dataDir });
const relay = await openRelay({ store, host: "127.0.0.1", port: Number(port), auth: "open" });
process.send?.({ url: relay.url, port: relay.port });
process.on("SIGTERM", () => {
  void relay
    .close()
    .then(() => store.close())
    .then(() => process.exit(0));
});
