/** 100,000 entries from their JSON texts to an index that answers, beside `JSON.parse` and a `Map` alone. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { InMemorySessionStorage, SessionTree } from "@coppice/core";
import { createEntrySource } from "./entries.mjs";
import { runBenchmark } from "./measure.mjs";

const count = 100_000;

const source = createEntrySource();
await compareIndexing("entries of one line", source.takeShort(count, null));
await compareIndexing("entries of 2.25 kB", source.takeTypical(count, null));

async function compareIndexing(what, entries) {
  const lines = entries.map((entry) => JSON.stringify(entry));
  const peer = "JSON.parse and a Map";
  const budgets = [{ times: 1.2, of: peer }];
  const contestants = [
    { name: peer, run: () => indexWithMap(lines) },
    { name: "JSON.parse and SessionTree", run: () => indexWithTree(lines), budgets },
    { name: "InMemorySessionStorage, which checks too", run: () => new InMemorySessionStorage({ lines }), budgets },
  ];
  await runBenchmark({
    title: `Index 100,000 ${what}; figures per entry`,
    clock: "cpu",
    rounds: 7,
    // What one run leaves behind is hundreds of megabytes; the next one should not pay for taking it away.
    contestants: contestants.map((contestant) => ({ ...contestant, count, prepare: collectGarbage })),
  });
}

function indexWithMap(lines) {
  const entriesById = new Map();
  for (const line of lines) {
    const entry = JSON.parse(line);
    entriesById.set(entry.id, entry);
  }
  return entriesById;
}

function indexWithTree(lines) {
  const tree = new SessionTree();
  for (const line of lines) tree.insert(JSON.parse(line));
  return tree;
}

function collectGarbage() {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
