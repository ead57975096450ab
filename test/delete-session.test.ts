import type { DeletionEvent, SharedSession, WebSocketConstructor, Workspace } from "@coppice/client";
import { openWorkspace } from "@coppice/client";
import type { UpdateStore } from "@coppice/core";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { Cleanup, fetchSession, makeStore, openDevice, readTexts, startRelay } from "./src/rooms-under-test.ts";

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

const say = (session: SharedSession, content: string): Promise<string> =>
  session.session.appendMessage({ role: "user", content });

/** Settles when it is so; looked at whenever the workspace says that something changed. */
function until(workspace: Workspace, isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (!isSo()) return;
      stop();
      resolve();
    };
    const stop = workspace.subscribe(check);
    check();
  });
}

/** What a workspace tells of deletions from now on. */
class Deletions {
  readonly events: DeletionEvent[] = [];
  #wake: () => void = () => undefined;

  constructor(workspace: Workspace) {
    workspace.subscribeDeletions((event) => {
      this.events.push(event);
      this.#wake();
    });
  }

  async first(): Promise<DeletionEvent | undefined> {
    while (this.events.length === 0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.events[0];
  }
}

/** Whether the relay has a tombstone of a room. */
const hasTombstone = async (relayStore: UpdateStore, roomId: string): Promise<boolean> =>
  (await relayStore.readValue(`deleted-room/${roomId}`)) !== undefined;

async function untilDeleted(relayStore: UpdateStore, roomId: string): Promise<void> {
  while (!(await hasTombstone(relayStore, roomId))) await new Promise((resolve) => setImmediate(resolve));
}

describe("deleting a session", () => {
  it("[WS75] it leaves every list for good, its id stays taken, and deleting twice is fine", async () => {
    const relayStore = await makeStore(cleanup);
    const relay = await startRelay(cleanup, relayStore);
    const a = await openDevice(cleanup, { name: "a", relay: relay.url, store: await makeStore(cleanup) });
    const kept = await a.createSession({ cwd: "/tmp/kept" });
    const session = await a.createSession({ cwd: "/tmp", name: "Gone" });
    await say(session, "hello");
    const headerJson = session.storage.getHeaderJson?.() ?? "";
    const b = await openDevice(cleanup, { name: "b", relay: relay.url, store: await makeStore(cleanup) });
    const fetched = await fetchSession(b, session.id);
    const texts = await readTexts(fetched);
    const told = new Deletions(b);

    expect(await a.deleteSession(session.id, 30_000)).toBe(true);
    expect(await hasTombstone(relayStore, session.roomId)).toBe(true);
    expect(await told.first()).toEqual({ kind: "deleted", sessionId: session.id, unsent: 0 });
    for (const workspace of [a, b]) {
      expect(workspace.listSessions().map(({ id }) => id)).toEqual([kept.id]);
      expect(workspace.listSessions({ deleted: true })).toHaveLength(2);
    }
    expect(await a.deleteSession(session.id, 30_000)).toBe(true);
    expect(await b.deleteSession(session.id, 30_000)).toBe(true);

    // What was on its way elsewhere does not bring it back.
    await b.renameSession(session.id, "Still here");
    await b.rotateKey(session.id);
    expect(b.listSessions().map(({ id }) => id)).toEqual([kept.id]);
    await expect(b.createSession({ cwd: "/tmp", id: session.id })).rejects.toMatchObject({ code: "invalid_session" });
    const again = b.importSession({ headerJson, lines: texts.map((text) => text ?? "") });
    await expect(again).rejects.toMatchObject({ code: "invalid_session" });
    await expect(again).rejects.toThrow(/deleted/);
    await expect(a.deleteSession("no such session", 0)).rejects.toMatchObject({ code: "not_found" });
    expect(told.events).toHaveLength(1);
  });

  it("[WS76] deleted without a relay, in a process that ends: the next one that has a relay deletes the room", async () => {
    const relayStore = await makeStore(cleanup);
    const relay = await startRelay(cleanup, relayStore);
    const store = await makeStore(cleanup);
    const first = await openDevice(cleanup, { name: "a", relay: relay.url, store });
    const session = await first.createSession({ cwd: "/tmp" });
    await say(session, "hello");
    expect(await session.waitUntilAcknowledged(30_000)).toBe(true);
    await first.close();
    const offline = await openDevice(cleanup, { name: "a", store });
    expect(await offline.deleteSession(session.id, 30_000)).toBe(false);
    await offline.close();
    expect(await hasTombstone(relayStore, session.roomId)).toBe(false);
    const back = await openDevice(cleanup, { name: "a", relay: relay.url, store });
    await untilDeleted(relayStore, session.roomId);
    expect(await back.deleteSession(session.id, 30_000)).toBe(true);
  });

  it("[WS76] any device that hears of it deletes the room, when the one that wanted it cannot", async () => {
    const relayStore = await makeStore(cleanup);
    const relay = await startRelay(cleanup, relayStore);
    // Its line to that one room is broken: whatever is tried there goes to a port where nobody listens.
    const broken: { roomId?: string } = {};
    class BrokenLine extends WebSocket {
      constructor(url: string | URL, protocols?: string | string[]) {
        const isBroken = broken.roomId !== undefined && String(url).endsWith(broken.roomId);
        super(isBroken ? "ws://127.0.0.1:1/" : url, protocols);
      }
    }
    const a = await openWorkspace({
      store: await makeStore(cleanup),
      relay: relay.url,
      workspaceKey: new Uint8Array(32).fill(5),
      device: { id: "device-a", name: "a" },
      webSocket: BrokenLine as unknown as WebSocketConstructor,
      endWaitsWhenUnreachable: true,
    });
    cleanup.add(() => a.close());
    const session = await a.createSession({ cwd: "/tmp" });
    await say(session, "hello");
    const b = await openDevice(cleanup, { name: "b", relay: relay.url, store: await makeStore(cleanup) });
    await until(b, () => b.listSessions().length === 1);
    broken.roomId = session.roomId;
    expect(await a.deleteSession(session.id, 30_000)).toBe(false);
    await untilDeleted(relayStore, session.roomId);
    await until(b, () => b.listSessions().length === 0);
    expect(await b.deleteSession(session.id, 30_000)).toBe(true);
  });

  it("[WS77] [WS78] a late offline writer is told how much is his alone, keeps it, and makes a new session of it", async () => {
    const relay = await startRelay(cleanup, await makeStore(cleanup));
    const a = await openDevice(cleanup, { name: "a", relay: relay.url, store: await makeStore(cleanup) });
    const session = await a.createSession({ cwd: "/tmp" });
    await say(session, "hello");
    const store = await makeStore(cleanup);
    const online = await openDevice(cleanup, { name: "b", relay: relay.url, store });
    await fetchSession(online, session.id);
    await online.close();
    const offline = await openDevice(cleanup, { name: "b", store });
    const onTrain = await offline.openSession(session.id);
    for (const text of ["written", "on a train"]) await say(onTrain, text);
    const texts = await readTexts(onTrain);
    await offline.close();

    expect(await a.deleteSession(session.id, 30_000)).toBe(true);
    const back = await openDevice(cleanup, { name: "b", relay: relay.url, store });
    const told = new Deletions(back);
    expect(await told.first()).toEqual({ kind: "deleted", sessionId: session.id, unsent: 2 });
    expect(back.listSessions()).toEqual([]);
    expect(back.listSessions({ deleted: true })).toMatchObject([{ id: session.id, deleted: true, unsent: 2 }]);

    const opened = await back.openSession(session.id);
    expect(opened.status()).toMatchObject({ relay: { state: "refused", code: 4410 }, pending: 2 });
    expect(await readTexts(opened)).toEqual(texts);
    await say(opened, "afterwards");
    expect(back.listSessions({ deleted: true })).toMatchObject([{ unsent: 3 }]);
    const rescued = await back.forkSession(session.id);
    expect(await readTexts(rescued)).toEqual(await readTexts(opened));
    expect(await rescued.waitUntilAcknowledged(30_000)).toBe(true);
    const onA = await fetchSession(a, rescued.id);
    expect((await readTexts(onA)).slice(0, 3)).toEqual(texts);

    await back.close();
    const later = await openDevice(cleanup, { name: "b", relay: relay.url, store });
    const toldLater = new Deletions(later);
    await later.waitUntilSynced(30_000);
    expect(await later.deleteSession(session.id, 30_000)).toBe(true);
    expect(toldLater.events).toEqual([]);
    expect(later.listSessions({ deleted: true }).find(({ id }) => id === session.id)).toMatchObject({ unsent: 3 });
  });

  it("[WS77] an open session leaves the relay with the record, and what is written then stays here", async () => {
    const relay = await startRelay(cleanup, await makeStore(cleanup));
    const a = await openDevice(cleanup, { name: "a", relay: relay.url, store: await makeStore(cleanup) });
    const session = await a.createSession({ cwd: "/tmp" });
    await say(session, "hello");
    const b = await openDevice(cleanup, { name: "b", relay: relay.url, store: await makeStore(cleanup) });
    const fetched = await fetchSession(b, session.id);
    expect(await a.deleteSession(session.id, 30_000)).toBe(true);
    await until(b, () => b.listSessions().length === 0);
    expect(fetched.status().relay).toMatchObject({ state: "refused", code: 4410 });
    await say(fetched, "afterwards");
    expect(fetched.status()).toMatchObject({ pending: 1, unsaved: 0 });
    expect(await fetched.waitUntilAcknowledged(30_000)).toBe(false);
  });
});
