// Appends in groups of changing size for ever and reports each settled append as "<position> <content>".
import { writeSync } from "node:fs";
import { openLmdbStore } from "../../dist/index.js";

const [, , folder, label] = process.argv;
const store = await openLmdbStore({ path: folder });
const log = await store.openLog("room");

for (let group = 0; ; group++) {
  const texts = Array.from({ length: 1 + (group % 5) * 4 }, (_, index) => `${label}.${group}.${index}`);
  const appends = texts.map(async (text) => {
    const seq = await log.append(new TextEncoder().encode(text.padEnd(100 + ((group * 397) % 6000), ".")));
    writeSync(1, `${seq} ${text}\n`);
  });
  await Promise.all(appends);
}
