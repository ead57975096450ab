/** The branch of an entry that stands 100,000 deep. */
import { InMemorySessionStorage } from "@coppice/core";
import { createEntrySource } from "./entries.mjs";
import { runBenchmark } from "./measure.mjs";

const depth = 100_000;

const entries = createEntrySource().takeShort(depth, null);
const storage = new InMemorySessionStorage({ entries });
const entriesById = new Map(entries.map((entry) => [entry.id, entry]));
const leafId = await storage.getLeafId();
const peer = "parents out of a Map, pushed and reversed";

await runBenchmark({
  title: "Path to the root, 100,000 deep; figures per path",
  clock: "cpu",
  rounds: 25,
  contestants: [
    { name: peer, count: 1, run: walkMap },
    { name: "getPathToRoot, in memory", count: 1, run: walkStorage, budgets: [{ atMost: 100_000 }] },
  ],
});

function walkMap() {
  const path = [];
  for (let entry = entriesById.get(leafId); entry !== undefined; entry = entriesById.get(entry.parentId))
    path.push(entry);
  return requireDepth(path.reverse());
}

async function walkStorage() {
  return requireDepth(await storage.getPathToRoot(leafId));
}

function requireDepth(path) {
  if (path.length !== depth) throw new Error(`A path of ${path.length} entries, expected ${depth}`);
}
