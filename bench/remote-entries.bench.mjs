/**
 * What an entry of another device costs a replica that holds 100,000: taking in the update, opening the record's header
 * and indexing it. One update per entry, as they come while the other device writes. The peers index the entry by its
 * id, which they have to look for in the event.
 */
import * as Y from "yjs";
import { createDoc, createLog, kinds } from "./append-logs.mjs";
import { createEntrySource } from "./entries.mjs";
import { runBenchmark } from "./measure.mjs";

const [held, perRun, slowPerRun] = [100_000, 1500, 50];
const peer = "Y.Array of objects and a Map";

const source = createEntrySource();

await runBenchmark({
  title: "Take in one entry of 2.25 kB from another device after 100,000; figures per entry",
  clock: "cpu",
  rounds: 7,
  contestants: [
    await openContestant(peer, kinds.objects, indexArray, slowPerRun),
    await openContestant("Y.Array of bytes and a Map", kinds.bytes, indexArray, slowPerRun),
    {
      ...(await openContestant(
        "sealed, opened and in the tree",
        kinds.sealed,
        (doc) => kinds.sealed(doc, "b"),
        perRun,
      )),
      budgets: [{ atMost: 60 }],
    },
  ],
});

/** A writer of one kind and a reader of its updates that has all it wrote so far. */
async function openContestant(name, openDevice, openReader, count) {
  const writer = await createLog(openDevice, source, held);
  const doc = createDoc();
  Y.applyUpdate(doc, Y.encodeStateAsUpdate(writer.doc));
  await openReader(doc);
  return { name, count, prepare: () => writeEntries(writer, count), run: (updates) => applyAll(doc, updates) };
}

async function writeEntries(writer, count) {
  const entries = source.takeTypical(count, writer.lastId);
  writer.lastId = entries.at(-1).id;
  const updates = [];
  const keep = (update) => updates.push(update);
  writer.doc.on("update", keep);
  for (const entry of entries) await writer.append(entry);
  writer.doc.off("update", keep);
  return updates;
}

function applyAll(doc, updates) {
  for (const update of updates) Y.applyUpdate(doc, update);
}

function indexArray(doc) {
  const entriesById = new Map();
  const decoder = new TextDecoder();
  const read = (value) => (value instanceof Uint8Array ? JSON.parse(decoder.decode(value)) : value);
  const take = (value) => entriesById.set(read(value).id, value);
  const array = doc.getArray("entries");
  array.forEach(take);
  array.observe(({ changes }) => {
    for (const { insert } of changes.delta) if (insert !== undefined) insert.forEach(take);
  });
}
