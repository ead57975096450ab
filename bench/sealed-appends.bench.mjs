/**
 * Appends to a sealed document in memory, one by one, to a short log and to a long one; then the same with a second
 * device that appends in turn, where a figure includes taking each append in on the other device. The peers seal, check
 * and index nothing: a `Y.Array` of objects, whose neighbours Yjs merges, and one of bytes, whose end Yjs has to look
 * for after every append of the other device.
 */
import { deriveRoomKeys, YjsSessionStorage } from "@coppice/storage-yjs";
import * as Y from "yjs";
import { createEntrySource } from "./entries.mjs";
import { runBenchmark } from "./measure.mjs";

const sessionId = "bench";
const keys = deriveRoomKeys(new Uint8Array(32).fill(7), sessionId);
const headerJson = JSON.stringify({
  type: "session",
  version: 3,
  id: sessionId,
  timestamp: "2026-01-01T00:00:00.000Z",
});
const fillStep = 1000;
/** Enough for compiled code to count; the peer's long log is slow at any number. */
const [appendsPerRun, slowAppendsPerRun] = [1500, 100];

const source = createEntrySource();
const [createObjects, createBytes, createSealed] = [openObjects, openBytes, openSealed].map(createLogWith);
const longSealed = await createSealed(100_000);

await compareAppends({
  devices: "one device",
  peer: "Y.Array of objects",
  createPeer: createObjects,
  longLogs: [await createObjects(100_000), longSealed],
  shortBudget: { us: 200 },
});
await compareAppends({
  devices: "two devices in turn",
  peer: "Y.Array of bytes",
  createPeer: async (count) => addDevice(await createBytes(count)),
  createLog: async (count) => addDevice(await createSealed(count)),
  longLogs: [await addDevice(await createBytes(100_000)), await addDevice(longSealed)],
});

async function compareAppends({ devices, peer, createPeer, createLog = createSealed, longLogs, shortBudget }) {
  const [longPeerLog, longSealedLog] = longLogs;
  const shortName = "sealed, after 1,000 entries";
  const contestants = [
    { name: `${peer}, after 1,000 entries`, openLog: () => createPeer(1000) },
    { name: `${peer}, after 100,000 entries`, openLog: () => longPeerLog, count: slowAppendsPerRun },
    { name: shortName, openLog: () => createLog(1000), budget: shortBudget },
    { name: "sealed, after 100,000 entries", openLog: () => longSealedLog, budget: { times: 1.5, of: shortName } },
  ];
  await runBenchmark({
    title: `Append entries of 2.25 kB, ${devices}; figures per append`,
    clock: "cpu",
    rounds: 7,
    contestants: contestants.map(({ name, openLog, budget, count = appendsPerRun }) => ({
      name,
      budget,
      count,
      prepare: async () => prepareAppends(await openLog(), count),
      run: appendAll,
    })),
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

/**
 * Makes logs of one kind. `openDevice(doc, deviceId)` gives the device's `append` and `appendMany`. What is in a log
 * before is short: its size does not matter to appends, and the long log is ready sooner.
 */
function createLogWith(openDevice) {
  return async (count) => {
    const doc = createDoc();
    const device = await openDevice(doc, "a");
    const entries = source.takeShort(count, null);
    for (let at = 0; at < count; at += fillStep) await device.appendMany(entries.slice(at, at + fillStep));
    return { doc, openDevice, append: device.append, lastId: entries.at(-1).id };
  };
}

/** A second device with the same content; from now on each hears the other, and appends go to them in turn. */
async function addDevice(log) {
  const doc = createDoc();
  Y.applyUpdate(doc, Y.encodeStateAsUpdate(log.doc));
  const device = await log.openDevice(doc, "b");
  forwardUpdates(log.doc, doc);
  forwardUpdates(doc, log.doc);
  let isFirstsTurn = true;
  const append = (entry) => {
    isFirstsTurn = !isFirstsTurn;
    return (isFirstsTurn ? log : device).append(entry);
  };
  return { append, lastId: log.lastId };
}

function createDoc() {
  const doc = new Y.Doc();
  // Somebody always listens, because an update that nobody wants is not even encoded.
  doc.on("update", () => {});
  return doc;
}

function forwardUpdates(from, to) {
  from.on("update", (update, origin) => {
    if (origin !== to) Y.applyUpdate(to, update, from);
  });
}

async function openSealed(doc, deviceId) {
  const storage = await YjsSessionStorage.open({ doc, sessionId, keys, deviceId, synced: true });
  await storage.create(headerJson);
  return {
    append: (entry) => storage.appendEntry(entry),
    appendMany: (entries) => storage.appendJson(entries.map((entry) => JSON.stringify(entry))),
  };
}

async function openObjects(doc) {
  const array = doc.getArray("entries");
  return { append: (entry) => array.push([entry]), appendMany: (entries) => array.push(entries) };
}

async function openBytes(doc) {
  const array = doc.getArray("entries");
  const encoder = new TextEncoder();
  const encode = (entry) => encoder.encode(JSON.stringify(entry));
  return { append: (entry) => array.push([encode(entry)]), appendMany: (entries) => array.push(entries.map(encode)) };
}
