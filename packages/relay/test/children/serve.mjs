// Runs a relay on a folder until it is killed; prints its URL. Arguments: folder, port, limits as JSON.
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay } from "@coppice/relay";

const [folder, port, limits] = process.argv.slice(2);
const store = await openLmdbStore({ path: folder });
const relay = await openRelay({ store, auth: "open", port: Number(port), limits: JSON.parse(limits) });
process.stdout.write(`${relay.url}\n`);
