// Opens the store, says "open", waits for a line, appends `count` updates one after another and in groups, and prints
// the positions it got as JSON.
import { once } from "node:events";
import { openLmdbStore } from "../../dist/index.js";

const [, , folder, label, count] = process.argv;
const store = await openLmdbStore({ path: folder });
const log = await store.openLog("room");
process.stdout.write("open\n");
await once(process.stdin, "data");

const seqs = [];
while (seqs.length < Number(count)) {
  const group = Array.from({ length: 1 + (seqs.length % 3) }, () => log.append(new TextEncoder().encode(label)));
  seqs.push(...(await Promise.all(group)));
}
await store.close();
process.stdout.write(`${JSON.stringify(seqs)}\n`);
process.stdin.destroy();
