import type { SessionEntry } from "@coppice/core";
import * as Y from "yjs";
import type { OwnLeafStore, StoredLeaf } from "../src/device-leaf.ts";
import { nodeRecordCrypto } from "../src/node/node-record-crypto.ts";
import { deriveRoomKeys } from "../src/room-keys.ts";
import { YjsSessionStorage } from "../src/yjs-session-storage.ts";
import type { YjsSessionStorageOptions } from "../src/yjs-storage-options.ts";
import { headerText, testKey } from "./helpers.ts";

/** The session all replicas of these tests share. */
export const sessionId = "0198f5a2-7c3b-7000-8000-0123456789ab";
export const roomKeys = deriveRoomKeys(testKey(), sessionId);

/** Yjs draws client ids at random and orders concurrent records by them; tests that repeat must not. */
let lastClientId = 1_000;

/** One open copy of the session with what its device keeps. */
export interface Replica {
  readonly doc: Y.Doc;
  readonly storage: YjsSessionStorage;
  /** Every update this doc has emitted or was opened with: the local log. */
  readonly log: Uint8Array[];
  readonly ownLeaf: TestLeafStore;
}

/** A leaf kept as a device keeps it. */
export class TestLeafStore implements OwnLeafStore {
  leaf: StoredLeaf | undefined;
  writes = 0;

  read(): StoredLeaf | undefined {
    return this.leaf;
  }

  async write(leaf: StoredLeaf): Promise<void> {
    this.leaf = leaf;
    this.writes++;
  }
}

/** Opens a replica on a new doc that holds `log`; one opened later has the larger client id. Sealed and synced by default. */
export async function openReplica(
  deviceId: string,
  options: Partial<YjsSessionStorageOptions> & { log?: Uint8Array[]; ownLeaf?: TestLeafStore } = {},
): Promise<Replica> {
  const { log = [], ownLeaf = new TestLeafStore(), ...rest } = options;
  const doc = rest.doc ?? new Y.Doc();
  if (rest.doc === undefined) doc.clientID = ++lastClientId;
  for (const update of log) Y.applyUpdate(doc, update, "log");
  doc.on("update", (update: Uint8Array) => log.push(update));
  const storage = await YjsSessionStorage.open({
    doc,
    sessionId,
    keys: roomKeys,
    crypto: nodeRecordCrypto,
    deviceId,
    synced: true,
    ownLeaf,
    ...rest,
  });
  return { doc, storage, log, ownLeaf };
}

/** Opens a replica that has created the session. */
export async function createReplica(
  deviceId: string,
  options: Parameters<typeof openReplica>[1] = {},
): Promise<Replica> {
  const replica = await openReplica(deviceId, options);
  await replica.storage.create(headerText(sessionId));
  return replica;
}

/** Closes a replica and opens its device's next one from what is kept. */
export async function reopenReplica(deviceId: string, replica: Replica): Promise<Replica> {
  await replica.storage.close();
  return openReplica(deviceId, { log: [...replica.log], ownLeaf: replica.ownLeaf });
}

/** Gives `to` all that `from` has. */
export function deliver(from: Replica, to: Replica): void {
  Y.applyUpdate(to.doc, Y.encodeStateAsUpdate(from.doc, Y.encodeStateVector(to.doc)), "remote");
}

/** Brings replicas to the same state. */
export function syncAll(...replicas: Replica[]): void {
  for (const from of replicas) for (const to of replicas) deliver(from, to);
  for (const from of replicas) for (const to of replicas) deliver(from, to);
}

/** Keeps two replicas in step: each update is applied to the other at once. Returns the function that stops it. */
export function connect(a: Replica, b: Replica): () => void {
  return linkDocs(a.doc, b.doc);
}

/** As `connect`, for docs. */
export function linkDocs(a: Y.Doc, b: Y.Doc): () => void {
  const link = (from: Y.Doc, to: Y.Doc) => {
    const forward = (update: Uint8Array, origin: unknown) => {
      if (origin !== "remote") Y.applyUpdate(to, update, "remote");
    };
    Y.applyUpdate(to, Y.encodeStateAsUpdate(from, Y.encodeStateVector(to)), "remote");
    from.on("update", forward);
    return () => from.off("update", forward);
  };
  const stops = [link(a, b), link(b, a)];
  return () => {
    for (const stop of stops) stop();
  };
}

/** A user message as an entry. */
export function message(id: string, parentId: string | null, text: string = id): SessionEntry {
  return {
    type: "message",
    id,
    parentId,
    timestamp: "2026-01-02T00:00:00.000Z",
    message: { role: "user", content: text },
  };
}

/** Appends messages one below the other, under the replica's leaf. */
export async function appendChain(replica: Replica, ...ids: string[]): Promise<void> {
  for (const id of ids) await replica.storage.appendEntry(message(id, await replica.storage.getLeafId()));
}

/** Ids of the log as the storage shows it. */
export async function logIds(replica: Replica): Promise<string[]> {
  return (await replica.storage.getEntries()).map(({ id }) => id);
}

/** The records of the doc, as bytes. */
export function recordsOf(replica: Replica): Uint8Array[] {
  return replica.doc.getArray<Uint8Array>("entries").toArray();
}

/** Puts bytes at the end of the doc as a client that knows nothing of the format would. */
export function pushRaw(replica: Replica, ...records: unknown[]): void {
  replica.doc.getArray<unknown>("entries").push(records);
}
