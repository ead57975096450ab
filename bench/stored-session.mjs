/**
 * A session of 100,000 entries, 226 MB of JSON, as a file and in a local store. Made once and kept in the temporary
 * folder for as long as the code that stores it stays the same.
 */
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openWorkspace } from "@coppice/client";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { deriveRoomKeys } from "@coppice/storage-yjs";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import { createEntrySource } from "./entries.mjs";

/** The session's id. */
export const sessionId = "0198f5a2-7c3b-7000-8000-0123456789ab";

/** What the session's workspace is opened with, beside its store. */
export const workspaceOptions = {
  device: { id: "0198f5a2-7c3b-7000-8000-00000000000a", name: "bench" },
  workspaceKey: new Uint8Array(32).fill(7),
};

const folderPrefix = "coppice-bench-session-";
const entryCount = 100_000;
/** Entries before the compaction that its context keeps, and entries after it: a context of 200 messages. */
const [keptCount, laterCount] = [100, 99];
const headerJson = JSON.stringify({
  type: "session",
  version: 3,
  id: sessionId,
  timestamp: "2026-01-01T00:00:00.000Z",
  cwd: "/bench",
});
/** What writes the store or the entries. */
const writerPackages = ["client", "storage-yjs", "persist-lmdb"];
const writerFiles = ["entries.mjs", "stored-session.mjs"];

/** Makes the session unless it is there; gives the paths of its file, its store, and a copy of the store to spoil. */
export async function makeStoredSession() {
  const folder = join(tmpdir(), `${folderPrefix}${hashWriters()}`);
  const places = { file: join(folder, "session.jsonl"), store: join(folder, "store"), copy: join(folder, "copy") };
  if (existsSync(folder)) return places;
  // Half a gigabyte each: those of earlier code are of no more use.
  for (const name of readdirSync(tmpdir()).filter((name) => name.startsWith(folderPrefix)))
    rmSync(join(tmpdir(), name), { recursive: true });
  const unfinished = `${folder}-unfinished`;
  mkdirSync(unfinished);
  await writeSession(join(unfinished, "session.jsonl"), join(unfinished, "store"));
  cpSync(join(unfinished, "store"), join(unfinished, "copy"), { recursive: true });
  renameSync(unfinished, folder);
  return places;
}

/** Throws away what opening the session left behind to open it faster the next time. */
export async function dropIndexSnapshot(path) {
  const store = await openLmdbStore({ path });
  const log = await store.openLog(deriveRoomKeys(workspaceOptions.workspaceKey, sessionId).roomId);
  // The name under which the client keeps it. What is no snapshot counts as none.
  await log.writeDerived("session-index", new Uint8Array());
  await store.close();
}

async function writeSession(filePath, storePath) {
  const file = await open(filePath, "w");
  await file.write(`${headerJson}\n`);
  const store = await openLmdbStore({ path: storePath });
  const workspace = await openWorkspace({ ...workspaceOptions, store, crypto: nodeRecordCrypto });
  await workspace.importSession({ headerJson, lines: writeLines(file) });
  await workspace.close();
  await store.close();
  await file.close();
}

/** The entries' lines, as they are written to the file. */
async function* writeLines(file) {
  for (const batch of takeEntries()) {
    const lines = batch.map((entry) => JSON.stringify(entry));
    await file.write(`${lines.join("\n")}\n`);
    yield* lines;
  }
}

function* takeEntries() {
  const source = createEntrySource();
  const batchCount = 1000;
  let lastId = null;
  const take = (count) => {
    const batch = source.takeTypical(count, lastId);
    lastId = batch.at(-1).id;
    return batch;
  };
  for (let left = entryCount - keptCount - laterCount - 1; left > 0; left -= batchCount) {
    yield take(Math.min(left, batchCount));
  }
  const kept = take(keptCount);
  yield kept;
  const [{ id, timestamp }] = source.takeShort(1, lastId);
  const compaction = {
    type: "compaction",
    id,
    parentId: lastId,
    timestamp,
    summary: "What was before.",
    tokensBefore: 1,
  };
  lastId = id;
  yield [{ ...compaction, firstKeptEntryId: kept[0].id }];
  yield take(laterCount);
}

function hashWriters() {
  const hash = createHash("sha256");
  for (const file of writerFiles) hash.update(readFileSync(new URL(file, import.meta.url)));
  for (const name of writerPackages) {
    const folder = fileURLToPath(new URL(`../packages/${name}/dist/`, import.meta.url));
    const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".js"));
    for (const file of files.sort()) hash.update(readFileSync(join(folder, file)));
  }
  return hash.digest("hex").slice(0, 16);
}
