/** One of several processes on one home, without a relay; answers the calls of `home-calls.ts` over IPC. */
import { join } from "node:path";
import { openWorkspace, type SharedSession, type Workspace } from "@coppice/client";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import { answerCalls } from "./call-process.ts";
import type { AppendedNotice, HomeCalls } from "./home-calls.ts";

const keyBytes = 32;
const seen: [id: string, atMs: number][] = [];
let session: SharedSession | undefined;
let close: () => Promise<void> = async () => undefined;

/** Comparable between processes of one machine, and finer than `Date.now`. */
const nowMs = (): number => performance.timeOrigin + performance.now();

answerCalls<HomeCalls>({
  async open({ home, sessionId, creates }) {
    const store = await openLmdbStore({ path: join(home, "store") });
    const workspace = await openWorkspace({
      store,
      device: { id: "device-shared", name: "shared" },
      workspaceKey: new Uint8Array(keyBytes).fill(7),
      crypto: nodeRecordCrypto,
    });
    close = async () => {
      await workspace.close();
      await store.close();
    };
    if (creates) session = await workspace.createSession({ id: sessionId, cwd: "/" });
    else {
      await waitForListing(workspace, sessionId);
      session = await workspace.openSession(sessionId);
    }
    session.storage.subscribe(({ added, remote }) => {
      const atMs = nowMs();
      if (remote) for (const { id } of added) seen.push([id, atMs]);
    });
    return null;
  },
  async write({ label, count, underWay }) {
    const { session: writer } = opened();
    let next = 0;
    const writeOn = async (): Promise<void> => {
      while (next < count) {
        const at = next++;
        const id = await writer.appendMessage({ role: "user", content: `${label} ${at}`, timestamp: Date.now() });
        process.send?.({ notice: "appended", id, atMs: nowMs() } satisfies AppendedNotice);
      }
    };
    await Promise.all(Array.from({ length: underWay }, writeOn));
    return null;
  },
  async report({ entries, timeoutMs }) {
    const { storage } = opened();
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const ids = (await storage.getEntries()).map(({ id }) => id);
      if (ids.length >= entries) return { ids, seen };
      if (performance.now() > deadline)
        throw new Error(`${ids.length} of ${entries} entries are here after ${timeoutMs} ms`);
      await waitForChange(opened(), deadline - performance.now());
    }
  },
  async close() {
    await close();
    return null;
  },
});

function opened(): SharedSession {
  if (session === undefined) throw new Error("the session is not open");
  return session;
}

function waitForListing(workspace: Workspace, sessionId: string): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (!workspace.listSessions().some(({ id }) => id === sessionId)) return;
      stop();
      resolve();
    };
    const stop = workspace.subscribe(check);
    check();
  });
}

function waitForChange({ storage }: SharedSession, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const timer = setTimeout(finish, timeoutMs);
    const stop = storage.subscribe(finish);
  });
}
