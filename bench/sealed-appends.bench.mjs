/**
 * Appends to a sealed document in memory, one by one, to a short log and to a long one; then the same with a second
 * device that appends in turn, where a figure includes taking each append in on the other device. The peers seal, check
 * and index nothing: a `Y.Array` of objects or strings, whose neighbours Yjs merges, one of bytes, whose end Yjs has to
 * look for after every append of the other device, and the lists of Loro and Automerge.
 */
import { addDevice, createLog, fill, kinds } from "./append-logs.mjs";
import { createEntrySource } from "./entries.mjs";
import { runBenchmark } from "./measure.mjs";
import { hasPeers, peerPath } from "./peers.mjs";

/** Enough for compiled code to count; a slow contestant's figure is clear after fewer. */
const [appendsPerRun, slowAppendsPerRun] = [1500, 100];
const [short, middle, long] = [1000, 10_000, 100_000];
const shortName = nameOf("sealed", short);

const source = createEntrySource();
const longSealed = await createLog(kinds.sealed, source, long);

await compareAppends("one device", [
  { name: nameOf("Y.Array of objects", middle), log: await createLog(kinds.objects, source, middle) },
  { name: nameOf("Y.Array of objects", long), log: await createLog(kinds.objects, source, long), isSlow: true },
  { name: nameOf("Y.Array of strings", middle), log: await createLog(kinds.strings, source, middle) },
  { name: nameOf("Y.Array of bytes", middle), log: await createLog(kinds.bytes, source, middle) },
  ...(await openOthers()),
  {
    name: nameOf("sealed in JavaScript alone", short),
    open: () => createLog(kinds.sealedInJavaScript, source, short),
  },
  { name: shortName, open: () => createLog(kinds.sealed, source, short), budgets: [{ atMost: 200 }] },
  { name: nameOf("sealed", middle), open: () => createLog(kinds.sealed, source, middle), budgets: [flat(shortName)] },
  { name: nameOf("sealed", long), log: longSealed, budgets: [{ atMost: 200 }, flat(shortName)] },
]);
await compareAppends("two devices in turn", [
  { name: nameOf("Y.Array of bytes", short), open: async () => addDevice(await createLog(kinds.bytes, source, short)) },
  {
    name: nameOf("Y.Array of bytes", long),
    log: await addDevice(await createLog(kinds.bytes, source, long)),
    isSlow: true,
  },
  { name: shortName, open: async () => addDevice(await createLog(kinds.sealed, source, short)) },
  { name: nameOf("sealed", long), log: await addDevice(longSealed), budgets: [flat(shortName)] },
]);

async function compareAppends(devices, contestants) {
  await runBenchmark({
    title: `Append entries of 2.25 kB, ${devices}; figures per append`,
    clock: "cpu",
    rounds: 7,
    contestants: contestants.map(({ name, log, open = () => log, budgets, isSlow }) => {
      const count = isSlow ? slowAppendsPerRun : appendsPerRun;
      return { name, budgets, count, prepare: async () => prepareAppends(await open(), count), run: appendAll };
    }),
  });
}

function prepareAppends(log, count) {
  const entries = source.takeTypical(count, log.lastId);
  log.lastId = entries.at(-1).id;
  return { log, entries };
}

async function appendAll({ log, entries }) {
  for (const entry of entries) await log.append(entry);
}

async function openOthers() {
  if (!hasPeers("loro-crdt", "@automerge/automerge")) return [];
  const others = [];
  for (const [name, file] of [
    ["Loro list of strings", "loro-log.mjs"],
    ["Automerge list of strings", "automerge-log.mjs"],
  ]) {
    const log = (await import(peerPath(file))).createLog();
    others.push({
      name: nameOf(name, middle),
      log: { ...log, lastId: await fill(log, source, middle) },
      isSlow: true,
    });
  }
  return others;
}

function nameOf(kind, count) {
  return `${kind}, after ${count.toLocaleString("en")} entries`;
}

function flat(of) {
  return { times: 1.5, of };
}
