// Appends twice and says so, to be run under a tracer of system calls.
import { writeSync } from "node:fs";
import { openLmdbStore } from "../../dist/index.js";

const store = await openLmdbStore({ path: process.argv[2] });
const log = await store.openLog("room");
for (let count = 0; count < 2; count++) {
  writeSync(1, "appending\n");
  await log.append(new Uint8Array(3000));
  writeSync(1, "settled\n");
}
