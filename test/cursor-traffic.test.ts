import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorkspace, type SharedSession, type Workspace } from "@coppice/client";
import type { UpdateStore } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay } from "@coppice/relay";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import * as Y from "yjs";

/** Cursor changes before each device must have seen the other's last one; an odd number, so that this one is news. */
const BATCH = 41;
/** Cursor changes of each device. */
const CHANGES = 50 * BATCH;
const WAIT_MS = 30_000;

async function openStore(): Promise<UpdateStore> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-cursor-traffic-"));
  const store = await openLmdbStore({ path: folder });
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return store;
}

async function openDevice(store: UpdateStore, name: string, relay: string): Promise<Workspace> {
  const workspace = await openWorkspace({
    store,
    device: { id: `${name}-1`, name },
    workspaceKey: new Uint8Array(32).fill(3),
    relay,
    webSocket: WebSocket as never,
  });
  onTestFinished(() => workspace.close());
  return workspace;
}

/** What a store keeps of a room: its updates, and the size of the document that they make. */
async function measureLog(store: UpdateStore, room: string) {
  const log = await store.openLog(room);
  const doc = new Y.Doc();
  const sizes: number[] = [];
  for await (const { update } of log.read()) {
    sizes.push(update.length);
    Y.applyUpdate(doc, update);
  }
  return { sizes, lastSeq: log.lastSeq(), docBytes: Y.encodeStateAsUpdate(doc).length };
}

/** Settles when a session shows the other device's cursor as wanted. */
function seesOther(session: SharedSession, isRunning: boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      const other = session.getCursors().find(({ sameDevice }) => !sameDevice);
      if ((other?.running ?? false) !== isRunning || other === undefined) return;
      stop();
      resolve();
    };
    const stop = session.subscribe(look);
    look();
  });
}

it("[YS126] thousands of cursor changes that both devices see change neither the document nor any log of it", async () => {
  const stores = { relay: await openStore(), laptop: await openStore(), phone: await openStore() };
  const relay = await openRelay({ store: stores.relay, auth: "open", port: 0 });
  onTestFinished(() => relay.close());
  const laptop = await openDevice(stores.laptop, "laptop", relay.url);
  const phone = await openDevice(stores.phone, "phone", relay.url);
  const made = await laptop.createSession({ cwd: "/work", name: "Traffic" });
  await made.session.appendMessage({ role: "user", content: "hello" });
  expect(await made.waitUntilAcknowledged(WAIT_MS)).toBe(true);
  expect(await laptop.waitUntilAcknowledged(WAIT_MS)).toBe(true);
  expect(await phone.waitUntilSynced(WAIT_MS)).toBe(true);
  const fetched = await phone.openSession(made.id);
  expect(await fetched.waitUntilSynced(WAIT_MS)).toBe(true);
  await Promise.all([seesOther(made, false), seesOther(fetched, false)]);

  const measure = () => Promise.all(Object.values(stores).map((store) => measureLog(store, made.roomId)));
  const before = await measure();
  for (let change = 1; change <= CHANGES; change++) {
    const isRunning = change % 2 === 1;
    for (const session of [made, fetched]) session.setRunning(isRunning);
    if (change % BATCH === 0) await Promise.all([seesOther(made, isRunning), seesOther(fetched, isRunning)]);
  }
  expect(await measure()).toEqual(before);
  expect(before.every(({ docBytes }) => docBytes > 0)).toBe(true);

  // The last word: what is written afterwards is all that is added.
  await made.session.appendMessage({ role: "user", content: "bye" });
  expect(await made.waitUntilAcknowledged(WAIT_MS)).toBe(true);
  const [, after] = await measure();
  expect(after?.lastSeq).toBe((before[1]?.lastSeq ?? 0) + 1);
});
