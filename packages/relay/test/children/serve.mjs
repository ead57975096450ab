// Runs a relay on a folder until it is killed; prints its URL.
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay } from "@coppice/relay";

const store = await openLmdbStore({ path: process.argv[2] });
const relay = await openRelay({ store, auth: "open", port: Number(process.argv[3]) });
process.stdout.write(`${relay.url}\n`);
