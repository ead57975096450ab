import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type OpenWorkspaceOptions,
  openWorkspace,
  type SharedSession,
  type WebSocketConstructor,
  type Workspace,
} from "@coppice/client";
import type { UpdateStore } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay, type Relay } from "@coppice/relay";
import { deriveRoomKeys, YjsSessionStorage } from "@coppice/storage-yjs";
import { encodeFrame } from "@coppice/wire";
import { WebSocket } from "ws";
import * as Y from "yjs";

/** What every device of these tests shares. */
export const workspaceKey: Uint8Array = new Uint8Array(32).fill(5);

/** Quick times: a test waits for what they bring about. */
const quickTimings = { maxReconnectDelayMs: 100, resendAfterMs: 1_000, resyncIntervalMs: 2_000 };

/** Everything a test opens, closed in the reverse order. */
export class Cleanup {
  readonly #steps: (() => Promise<unknown>)[] = [];

  add(step: () => Promise<unknown>): void {
    this.#steps.push(step);
  }

  async run(): Promise<void> {
    for (const step of this.#steps.splice(0).reverse()) await step();
  }
}

/** A store in a new folder. */
export async function makeStore(cleanup: Cleanup): Promise<UpdateStore> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-rooms-"));
  cleanup.add(() => rm(folder, { recursive: true, force: true }));
  const store = await openLmdbStore({ path: folder });
  cleanup.add(() => store.close());
  return store;
}

/** A relay over a store. */
export async function startRelay(cleanup: Cleanup, store: UpdateStore): Promise<Relay> {
  const relay = await openRelay({ store, auth: "open" });
  cleanup.add(() => relay.close());
  return relay;
}

/** A device's workspace. */
export async function openDevice(
  cleanup: Cleanup,
  {
    name,
    relay,
    store,
    isMortal,
    ...more
  }: { name: string; relay?: string; store: UpdateStore; isMortal?: boolean } & Partial<OpenWorkspaceOptions>,
): Promise<Workspace> {
  const workspace = await openWorkspace({
    store,
    relay,
    workspaceKey,
    device: { id: `device-${name}`, name },
    webSocket: WebSocket as unknown as WebSocketConstructor,
    timings: quickTimings,
    ...more,
  });
  // One whose process was killed has nothing to close in order.
  cleanup.add(() => (isMortal ? Promise.allSettled([workspace.close()]) : workspace.close()));
  return workspace;
}

/** Settles once `isReached` holds; asked now and at every change. */
export function waitFor(subscribe: (listener: () => void) => () => void, isReached: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (!isReached()) return;
      stop();
      resolve();
    };
    const stop = subscribe(() => check());
    check();
  });
}

/** The session on another device, complete. */
export async function fetchSession(workspace: Workspace, id: string): Promise<SharedSession> {
  await waitFor(
    (listener) => workspace.subscribe(listener),
    () => workspace.listSessions().some((listed) => listed.id === id),
  );
  const session = await workspace.openSession(id);
  await session.waitUntilSynced(30_000);
  return session;
}

/** Exact texts of all entries, in log order. */
export async function readTexts({ storage }: SharedSession): Promise<(string | undefined)[]> {
  const entries = await storage.getEntries();
  return Promise.all(entries.map(({ id }) => storage.getEntryJson(id)));
}

/** Settles when two devices show the same log. */
export async function untilEqual(left: SharedSession, right: SharedSession): Promise<string[]> {
  for (;;) {
    const [ours, theirs] = await Promise.all([readTexts(left), readTexts(right)]);
    if (JSON.stringify(ours) === JSON.stringify(theirs)) return ours as string[];
    await new Promise<void>((resolve) => {
      const stops = [left, right].map((session) =>
        session.subscribe(() => {
          for (const stop of stops) stop();
          resolve();
        }),
      );
    });
  }
}

/** The document of a room as a store has it. */
export async function readRoom(store: UpdateStore, roomId: string): Promise<Y.Doc> {
  const doc = new Y.Doc();
  const log = await store.openLog(roomId);
  for await (const { update } of log.read()) Y.applyUpdate(doc, update);
  await log.close();
  return doc;
}

/** Writes under a client id of somebody else, as many records, readable ones if it has the key. */
export async function writeAs(
  client: number,
  {
    relay,
    doc,
    session,
    count,
    hasKey,
  }: { relay: Relay; doc: Y.Doc; session: SharedSession; count: number; hasKey: boolean },
): Promise<void> {
  doc.clientID = client;
  const before = Y.encodeStateVector(doc);
  if (hasKey) {
    const storage = await YjsSessionStorage.open({
      doc,
      sessionId: session.id,
      keys: deriveRoomKeys(workspaceKey, session.id),
      deviceId: "device-thief",
      synced: true,
    });
    for (let at = 0; at < count; at += 1) {
      const id = await storage.createEntryId();
      const timestamp = new Date().toISOString();
      const message = { role: "user", content: `thief ${at}` } as const;
      await storage.appendEntry({
        type: "message",
        id,
        parentId: await storage.getLeafId(),
        timestamp,
        message,
      } as never);
    }
    await storage.close();
  } else {
    for (let at = 0; at < count; at += 1) doc.getArray("entries").push([Uint8Array.of(9, 9, at)]);
  }
  const socket = new WebSocket(`${relay.url}/${session.roomId}`);
  await once(socket, "open");
  socket.send(encodeFrame({ type: "ackRequest", version: 1, clients: [client] }));
  socket.send(encodeFrame({ type: "update", update: Y.encodeStateAsUpdate(doc, before) }));
  // The first acknowledgement answers the request, the second says that the records are kept.
  for (let acks = 0; acks < 2; ) {
    const [message] = (await once(socket, "message")) as [Buffer];
    if (message[0] === 67 && message[1] === 1) acks += 1;
  }
  socket.terminate();
}
