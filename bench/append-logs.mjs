/** Logs of entries that benchmarks append to: sealed ones and what a program without Coppice would keep in Yjs. */
import { deriveRoomKeys, pureRecordCrypto, YjsSessionStorage } from "@coppice/storage-yjs";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import * as Y from "yjs";

const sessionId = "bench";
const keys = deriveRoomKeys(new Uint8Array(32).fill(7), sessionId);
const headerJson = JSON.stringify({
  type: "session",
  version: 3,
  id: sessionId,
  timestamp: "2026-01-01T00:00:00.000Z",
  cwd: "/bench",
});
const fillStep = 1000;

/**
 * How a device appends to a doc, by kind of log: `openDevice(doc, deviceId)` gives its `append` and `appendMany`. The
 * peers seal, check and index nothing.
 */
export const kinds = {
  sealed: (doc, deviceId) => openSealed(doc, deviceId, nodeRecordCrypto),
  /** As in a browser. */
  sealedInJavaScript: (doc, deviceId) => openSealed(doc, deviceId, pureRecordCrypto),
  objects: async (doc) => openArray(doc, (entry) => entry),
  strings: async (doc) => openArray(doc, (entry) => JSON.stringify(entry)),
  bytes: async (doc) => {
    const encoder = new TextEncoder();
    return openArray(doc, (entry) => encoder.encode(JSON.stringify(entry)));
  },
};

/**
 * Makes a log that holds `count` entries. What it holds is short: its size does not matter to appends, and a long log
 * is ready sooner.
 */
export async function createLog(openDevice, source, count) {
  const doc = createDoc();
  const device = await openDevice(doc, "a");
  return { doc, openDevice, append: device.append, lastId: await fill(device, source, count) };
}

/** Appends short entries in steps; gives the last one's id. */
export async function fill(device, source, count) {
  const entries = source.takeShort(count, null);
  for (let at = 0; at < count; at += fillStep) await device.appendMany(entries.slice(at, at + fillStep));
  return entries.at(-1).id;
}

/** A second device with the same content; from now on each hears the other, and appends go to them in turn. */
export async function addDevice(log) {
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

/** A doc whose updates are encoded. */
export function createDoc() {
  const doc = new Y.Doc();
  // Somebody always listens, because an update that nobody wants is not even encoded.
  doc.on("update", () => {});
  return doc;
}

async function openSealed(doc, deviceId, crypto) {
  const storage = await YjsSessionStorage.open({ doc, sessionId, keys, crypto, deviceId, synced: true });
  await storage.create(headerJson);
  return {
    append: (entry) => storage.appendEntry(entry),
    appendMany: (entries) => storage.appendJson(entries.map((entry) => JSON.stringify(entry))),
  };
}

function openArray(doc, encode) {
  const array = doc.getArray("entries");
  return { append: (entry) => array.push([encode(entry)]), appendMany: (entries) => array.push(entries.map(encode)) };
}

function forwardUpdates(from, to) {
  from.on("update", (update, origin) => {
    if (origin !== to) Y.applyUpdate(to, update, from);
  });
}
