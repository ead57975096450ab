/** A new, empty session on each kind of Coppice storage, with what an application keeps around it. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createUuidV7, InMemorySessionStorage } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { JsonlSessionStorage } from "@coppice/storage-jsonl";
import { createRoomKeys, YjsSessionStorage } from "@coppice/storage-yjs";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import * as Y from "yjs";

const cwd = "/home/user/project";
/** By kind: makes the place of a new session. `open` reads it, `settle` waits until it is kept, `close` gives it up. */
const placeMakers = { memory: createMemoryPlace, jsonl: createFilePlace, yjs: createDocumentPlace };

/** The kinds of storage there are. */
export const storageKinds = Object.keys(placeMakers);

/**
 * Makes a session. `kind`: `memory`, `jsonl` (a file as pi writes it) or `yjs` (a sealed room whose updates are kept in
 * LMDB, as on every device). What is on disk is in a temporary folder.
 *
 * `storage` is the session. `reopen()` closes it, reads the same session again from where it is kept and returns it;
 * `storage` is that one from then on. `settle()` settles when everything appended is kept. `close()` removes it all.
 */
export async function createStorage(kind) {
  const makePlace = placeMakers[kind];
  if (makePlace === undefined) throw new Error(`No storage "${kind}"; there are: ${storageKinds.join(", ")}`);
  const place = await makePlace({ id: createUuidV7(), createdAt: new Date().toISOString(), cwd });
  let storage = await place.open();
  return {
    get storage() {
      return storage;
    },
    async reopen() {
      await storage.close();
      storage = await place.open();
      return storage;
    },
    async settle() {
      // Appends are written in the order of the calls; one of nothing comes after all that were not awaited.
      await storage.appendJson([]);
      await place.settle?.();
    },
    async close() {
      await storage.close();
      await place.close?.();
    },
  };
}

async function createMemoryPlace(metadata) {
  let storage;
  return {
    async open() {
      // Closing ended the last one's appends; what it still holds is all there is.
      const entries = (await storage?.getEntries()) ?? [];
      const lines = await Promise.all(entries.map((entry) => storage.getEntryJson(entry.id)));
      storage = new InMemorySessionStorage({ metadata, lines });
      return storage;
    },
  };
}

async function createFilePlace(session) {
  const folder = await makeFolder();
  const path = join(folder, "session.jsonl");
  await (await JsonlSessionStorage.create(path, session)).close();
  return {
    open: () => JsonlSessionStorage.open(path),
    close: () => rm(folder, { recursive: true }),
  };
}

async function createDocumentPlace({ id, createdAt, cwd }) {
  const folder = await makeFolder();
  const store = await openLmdbStore({ path: folder });
  // With a relay both would come from the workspace's key; the storage does not care.
  const keys = createRoomKeys(randomBytes(16).toString("hex"), randomBytes(32));
  const headerJson = JSON.stringify({ type: "session", version: 3, id, timestamp: createdAt, cwd });
  const log = await store.openLog(keys.roomId);
  let kept = Promise.resolve();
  return {
    async open() {
      const doc = new Y.Doc();
      for await (const { update } of log.read()) Y.applyUpdate(doc, update);
      doc.on("update", (update) => {
        const appended = log.append(update);
        kept = kept.then(() => appended);
        // The append that waits for it rejects; this chain must not be reported as unhandled meanwhile.
        kept.catch(() => {});
      });
      const flushed = () => kept;
      const storage = await YjsSessionStorage.open({
        doc,
        sessionId: id,
        keys,
        crypto: nodeRecordCrypto,
        deviceId: "laptop",
        synced: true,
        flushed,
      });
      await storage.create(headerJson);
      return storage;
    },
    settle: () => kept,
    async close() {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

function makeFolder() {
  return mkdtemp(join(tmpdir(), "coppice-pi-harness-"));
}
