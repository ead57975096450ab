/**
 * What real session files take as sealed records, compared with their JSON lines: in the document, and as the update
 * that is stored and sent. `COPPICE_SESSIONS` names a folder with files of format 3; those of less than 256 kB are left
 * out, since a few entries say little. A synthetic session would say nothing: how well text deflates is its own matter.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { deriveRoomKeys, YjsSessionStorage } from "@coppice/storage-yjs";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import * as Y from "yjs";
import { reportRemark, runFigures } from "./measure.mjs";

const smallestBytes = 256 * 1024;
/** Bytes on the wire and on disk per entry, sealed: at most 0.6x of the JSON. */
const budgets = [{ atMost: 0.6 }];
const folder = process.env.COPPICE_SESSIONS ?? process.argv[2];

const files = folder === undefined ? [] : readSessionFiles(folder);
if (files.length === 0) {
  reportRemark("left out: sizes of real sessions (COPPICE_SESSIONS names no folder with session files of format 3)");
} else {
  await runFigures({
    rounds: 1,
    contestants: files,
    measure: measureSession,
    figures: {
      records: { title: "Sealed records of a session file, by its JSON", unit: "times", budgetsOf: () => budgets },
      update: { title: "The same as one update of the document", unit: "times", budgetsOf: () => budgets },
      unsealed: { title: "Records of an unsealed room, deflated, by the file's JSON", unit: "times" },
    },
  });
}

function readSessionFiles(path) {
  return readdirSync(path)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => ({ name, text: readFileSync(join(path, name), "utf8") }))
    .filter(({ text }) => text.length >= smallestBytes)
    .map(({ name, text }) => ({ name, lines: text.split("\n").filter((line) => line !== "") }))
    .filter(({ lines }) => JSON.parse(lines[0]).version === 3);
}

async function measureSession({ lines }) {
  const jsonBytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  const sealed = await fillDoc(lines, true);
  const unsealed = await fillDoc(lines, false);
  return {
    records: sumRecords(sealed) / jsonBytes,
    update: Y.encodeStateAsUpdate(sealed).length / jsonBytes,
    unsealed: sumRecords(unsealed) / jsonBytes,
  };
}

async function fillDoc([headerJson, ...entryLines], isSealed) {
  const doc = new Y.Doc();
  const sessionId = JSON.parse(headerJson).id;
  const keys = isSealed ? deriveRoomKeys(new Uint8Array(32).fill(7), sessionId) : undefined;
  const storage = await YjsSessionStorage.open({
    doc,
    sessionId,
    keys,
    crypto: nodeRecordCrypto,
    // As long as a real device id.
    deviceId: "0198f5a2-7c3b-7000-8000-0123456789ab",
    synced: true,
  });
  await storage.create(headerJson);
  await storage.appendJson(entryLines);
  await storage.close();
  return doc;
}

function sumRecords(doc) {
  return doc
    .getArray("entries")
    .toArray()
    .reduce((sum, record) => sum + record.length, 0);
}
