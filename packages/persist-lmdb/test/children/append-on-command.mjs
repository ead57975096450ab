// Opens the store, says "open", then appends one update to the named log per line it gets and prints the position.
import { createInterface } from "node:readline";
import { openLmdbStore } from "../../dist/index.js";

const store = await openLmdbStore({ path: process.argv[2] });
process.stdout.write("open\n");
for await (const name of createInterface({ input: process.stdin })) {
  const log = await store.openLog(name);
  process.stdout.write(`${await log.append(new Uint8Array([1, 2, 3]))}\n`);
  await log.close();
}
await store.close();
