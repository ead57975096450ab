// Opens a store, listens for changes of others, appends, and comes to its end without closing anything.
import { openLmdbStore } from "../../dist/index.js";

const store = await openLmdbStore({ path: process.argv[2] });
const log = await store.openLog("room");
store.onForeignChange(() => undefined);
log.onForeignAppend(() => undefined);
process.stdout.write(`${await log.append(new Uint8Array([1]))}\n`);
