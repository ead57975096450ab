import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorkspace, type SharedSession, type WebSocketConstructor, type Workspace } from "@coppice/client";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { openRelay, type Relay } from "@coppice/relay";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";

const workspaceKey = new Uint8Array(32).fill(6);
const headerJson =
  '{"type":"session","version":3,"id":"imported","timestamp":"2026-02-03T04:05:06.000Z","cwd":"/tmp/x"}';
const entry = (id: string, parentId: string | null): string =>
  `{"type":"message","id":"${id}","parentId":${JSON.stringify(parentId)},"timestamp":"2026-02-03T04:05:07.000Z","message":{"role":"user","content":"${id}"}}`;
const moveTo = (id: string, parentId: string, targetId: string): string =>
  `{"type":"leaf","id":"${id}","parentId":"${parentId}","timestamp":"2026-02-03T04:05:08.000Z","targetId":"${targetId}"}`;
const lines = [entry("a", null), entry("b", "a"), entry("c", "b"), entry("d", "c")];

const cleanups: (() => Promise<unknown>)[] = [];
let relay: Relay;

beforeEach(async () => {
  relay = await openRelay({ store: await openStore(), auth: "open", port: 0 });
  cleanups.push(() => relay.close());
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function openStore(): ReturnType<typeof openLmdbStore> {
  const path = await mkdtemp(join(tmpdir(), "coppice-imports-"));
  cleanups.push(() => rm(path, { recursive: true, force: true }));
  const store = await openLmdbStore({ path });
  cleanups.push(() => store.close());
  return store;
}

async function openDevice(name: string): Promise<Workspace> {
  const workspace = await openWorkspace({
    store: await openStore(),
    device: { id: name, name },
    workspaceKey,
    relay: relay.url,
    webSocket: WebSocket as unknown as WebSocketConstructor,
    timings: { maxReconnectDelayMs: 50 },
  });
  cleanups.push(() => workspace.close());
  return workspace;
}

/** Settles once `isReached` holds; asked now and at every change. */
function waitFor(subscribe: (listener: () => void) => () => void, isReached: () => boolean): Promise<void> {
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

/** Imports the file while all of it comes from another device: the lines before `from` are read before that, the others after. */
async function importWhileAnotherDoes(fileLines: readonly string[], from: number): Promise<SharedSession> {
  const [laptop, desktop] = [await openDevice("laptop"), await openDevice("desktop")];
  const readLines = async function* (): AsyncGenerator<string> {
    yield* fileLines.slice(0, from);
    const there = await desktop.importSession({ headerJson, lines: fileLines });
    await there.session.waitUntilAcknowledged(30_000);
    await waitFor(
      (listener) => laptop.subscribe(listener),
      () => laptop.listSessions().length > 0,
    );
    const here = await laptop.openSession("imported");
    const lastId = (JSON.parse(fileLines.at(-1) ?? "") as { id: string }).id;
    await waitFor(
      (listener) => here.subscribe(listener),
      () => here.getAuthor(lastId)?.deviceId === "desktop",
    );
    yield* fileLines.slice(from);
  };
  const { session } = await laptop.importSession({ headerJson, lines: readLines() });
  return session;
}

describe("two devices that import one file at once", () => {
  it("[WS12] both stand where the file ends, also the one that finds every entry there already", async () => {
    const session = await importWhileAnotherDoes(lines, 0);
    expect(await session.storage.getLeafId()).toBe("d");
    expect(await session.storage.findEntries("leaf")).toEqual([]);
    const id = await session.session.appendMessage({ role: "user", content: "and on" });
    expect((await session.storage.getEntry(id))?.parentId).toBe("d");
  });

  it("[WS12] one that wrote only the first part of the file itself stands at its end all the same", async () => {
    const long = Array.from({ length: 600 }, (_, at) => entry(`e${at}`, at === 0 ? null : `e${at - 1}`));
    const session = await importWhileAnotherDoes(long, 512);
    expect(await session.storage.getLeafId()).toBe("e599");
    expect((await session.storage.getEntries()).map(({ id }) => id)).toEqual(long.map((_, at) => `e${at}`));
  });

  it("[WS12] where the file moved back to, the device stands", async () => {
    const session = await importWhileAnotherDoes([...lines, moveTo("e", "d", "b")], 0);
    expect(await session.storage.getLeafId()).toBe("b");
  });
});
