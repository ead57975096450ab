import { createCipheriv } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SessionError, type UpdateLog, type UpdateStore } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openWorkspace } from "../src/workspace.ts";
import type { Workspace } from "../src/workspace-types.ts";

let folder: string;
let store: UpdateStore;
let workspace: Workspace;

const device = { id: "device-1", name: "laptop" };
const workspaceKey = new Uint8Array(32).fill(9);

async function openAll(): Promise<void> {
  store = await openLmdbStore({ path: folder });
  workspace = await openWorkspace({ store, device, workspaceKey });
}

async function closeAll(): Promise<void> {
  await workspace.close();
  await store.close();
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "coppice-workspace-"));
  await openAll();
});
afterEach(async () => {
  await closeAll();
  rmSync(folder, { recursive: true, force: true });
});

const header = {
  type: "session",
  version: 3,
  id: "shared-session",
  timestamp: "2026-02-03T04:05:06.000Z",
  cwd: "/tmp/x",
};
const entry = (id: string, parentId: string | null, text: string): string =>
  `{"timestamp":"2026-02-03T04:05:07.000Z","id":"${id}","parentId":${JSON.stringify(parentId)},"type":"message","message":{"role":"user","content":"${text}"}}`;

describe("openWorkspace", () => {
  it("[WS3] a session made here is listed, newest first, and is whole after a restart", async () => {
    const first = await workspace.createSession({ cwd: "/home/user/one", name: "One" });
    const id = await first.session.appendMessage({ role: "user", content: "hello" });
    const second = await workspace.createSession({ cwd: "/home/user/two" });
    await closeAll();
    await openAll();
    expect(workspace.listSessions().map(({ id: listed }) => listed)).toEqual([second.id, first.id]);
    const again = await workspace.openSession(first.id);
    expect(await again.storage.getLeafId()).toBe(id);
    expect(await again.storage.getSessionName()).toBe("One");
    expect(again.getAuthor(id)).toEqual({ deviceId: "device-1", deviceName: "laptop" });
    expect(again.status()).toMatchObject({ local: { state: "saved" }, relay: { state: "offline" }, unsaved: 0 });
    expect(await again.waitUntilSynced(30_000)).toBe(false);
  });

  it("[WS7] an import keeps every text, and again it writes nothing; a longer file adds what is new", async () => {
    const lines = [entry("a", null, "one  two"), entry("b", "a", "\\u00e9"), entry("c", "a", "é")];
    const headerJson = JSON.stringify(header);
    const source = { headerJson, lines: lines.slice(0, 2) };
    expect(await workspace.importSession(source)).toMatchObject({ written: 2, known: 0 });
    expect(await workspace.importSession(source)).toMatchObject({ written: 0, known: 2 });
    expect(await workspace.importSession({ headerJson, lines })).toMatchObject({ written: 1, known: 2 });
    const { storage } = await workspace.openSession("shared-session");
    expect(await Promise.all(["a", "b", "c"].map((id) => storage.getEntryJson(id)))).toEqual(lines);
    expect(workspace.listSessions()).toMatchObject([{ id: "shared-session", cwd: "/tmp/x" }]);
  });

  it("[WS7] what is no session is refused, and nothing is listed", async () => {
    await expect(workspace.importSession({ headerJson: "{}", lines: [] })).rejects.toMatchObject({
      code: "invalid_session",
    });
    expect(workspace.listSessions()).toEqual([]);
  });

  it("[WS7] a line that can be no entry is left out and named, and does not keep the others out", async () => {
    const headerJson = JSON.stringify(header);
    const before = Array.from({ length: 600 }, (_, at) => entry(`e${at}`, at === 0 ? null : `e${at - 1}`, "some text"));
    const tooLarge = entry("large", "e599", makeNoise(9_000_000).toString("base64"));
    const lines = [...before, tooLarge, entry("after", "large", "x"), "no entry", entry("last", "after", "x")];
    const { session, ...counts } = await workspace.importSession({ headerJson, lines });
    expect(counts).toEqual({
      written: 602,
      known: 0,
      isComplete: true,
      refused: [
        { line: 601, reason: expect.stringMatching(/^Entry large takes \d+ bytes/) },
        { line: 603, reason: expect.stringMatching(/^is no entry: not JSON/) },
      ],
    });
    expect((await session.storage.getEntries()).slice(-3).map(({ id }) => id)).toEqual(["e599", "after", "last"]);
    expect(workspace.listSessions()).toHaveLength(1);
    expect(await workspace.importSession({ headerJson, lines })).toMatchObject({ written: 0, known: 602 });
  });

  it("[WS10] a session id may be any text, and the device keeps its place in such a session", async () => {
    const ids = ["séance-1", "x".repeat(300), "nul\u0000\nline", "../../a/b"];
    for (const id of ids) {
      const headerJson = JSON.stringify({ ...header, id });
      expect(await workspace.importSession({ headerJson, lines: [entry("a", null, "one")] })).toMatchObject({
        written: 1,
      });
    }
    await closeAll();
    await openAll();
    expect(new Set(workspace.listSessions().map(({ id }) => id))).toEqual(new Set(ids));
    for (const id of ids) {
      const { storage } = await workspace.openSession(id);
      expect(await storage.getLeafId()).toBe("a");
    }
  });

  it("[WS10] an entry id may be any text too; a cursor on one that fits into no frame is not shown", async () => {
    const longId = "i".repeat(1_000_000);
    const headerJson = JSON.stringify(header);
    const { session } = await workspace.importSession({ headerJson, lines: [entry("a", null, "x")] });
    expect(session.getCursors()).toMatchObject([{ leafId: "a", self: true }]);
    await workspace.importSession({ headerJson, lines: [entry(longId, "a", "x")] });
    expect(await session.storage.getLeafId()).toBe(longId);
    expect(session.getCursors()).toEqual([]);
    await session.storage.setLeafId("a");
    expect(session.getCursors()).toMatchObject([{ leafId: "a", self: true }]);
  });

  it("[WS9] an opening that fails half-way leaves nothing open, and the next one succeeds", async () => {
    const { id } = await workspace.createSession({ cwd: "/" });
    await closeAll();
    await openAll();
    const failing = new StoreWithFailingReads(store);
    const another = await openWorkspace({ store: failing, device, workspaceKey });
    try {
      failing.fails = true;
      await expect(another.openSession(id)).rejects.toMatchObject({ code: "storage" });
      expect(failing.openLogs).toBe(1);
      failing.fails = false;
      expect((await another.openSession(id)).id).toBe(id);
      expect(failing.openLogs).toBe(2);
    } finally {
      await another.close();
    }
    expect(failing.openLogs).toBe(0);
  });

  it("[WS9] a workspace that is closing opens nothing more, and closes what is being opened", async () => {
    const { id } = await workspace.createSession({ cwd: "/" });
    await closeAll();
    await openAll();
    const counting = new StoreWithFailingReads(store);
    const another = await openWorkspace({ store: counting, device, workspaceKey });
    const opening = another.openSession(id);
    const closing = another.close();
    const closed = { code: "closed" };
    await expect(another.createSession({ cwd: "/" })).rejects.toMatchObject(closed);
    await expect(another.importSession({ headerJson: JSON.stringify(header), lines: [] })).rejects.toMatchObject(
      closed,
    );
    await opening;
    await closing;
    await expect(another.openSession(id)).rejects.toMatchObject(closed);
    expect(counting.openLogs).toBe(0);
  });

  it("[WS8] the listed name follows the session's own", async () => {
    const { session, id } = await workspace.createSession({ cwd: "/home/user", name: "before" });
    const renamed = new Promise<void>((resolve) => {
      workspace.subscribe(() => {
        if (workspace.listSessions()[0]?.name === "after") resolve();
      });
    });
    await session.appendSessionName("after");
    await renamed;
    await closeAll();
    await openAll();
    expect(workspace.listSessions()).toMatchObject([{ id, name: "after" }]);
  });

  it("[WS3] an unknown session is not found, a taken id is refused", async () => {
    await expect(workspace.openSession("nowhere")).rejects.toMatchObject({ code: "not_found" });
    await workspace.createSession({ id: "s", cwd: "/" });
    await expect(workspace.createSession({ id: "s", cwd: "/" })).rejects.toMatchObject({ code: "invalid_session" });
  });

  it("[WS9] a session that was closed opens anew, also while it is still closing", async () => {
    const first = await workspace.createSession({ cwd: "/" });
    const id = await first.session.appendMessage({ role: "user", content: "one" });
    const closing = first.close();
    const again = await workspace.openSession(first.id);
    await closing;
    expect(again).not.toBe(first);
    expect(await workspace.openSession(first.id)).toBe(again);
    expect(await again.storage.getLeafId()).toBe(id);
    await again.session.appendMessage({ role: "user", content: "two" });
    await expect(first.session.appendMessage({ role: "user", content: "late" })).rejects.toMatchObject({
      code: "closed",
    });
  });

  it("[WS12] an import moves the leaf on along its own branch and never to another", async () => {
    const headerJson = JSON.stringify(header);
    const lines = [entry("a", null, "one"), entry("b", "a", "two"), entry("c", "b", "three"), entry("d", "c", "four")];
    const { session } = await workspace.importSession({ headerJson, lines: lines.slice(0, 2) });
    await workspace.importSession({ headerJson, lines: lines.slice(0, 3) });
    expect(await session.storage.getLeafId()).toBe("c");
    await session.session.moveTo("a");
    const own = await session.session.appendMessage({ role: "user", content: "my own branch" });
    await workspace.importSession({ headerJson, lines });
    expect(await session.storage.getEntry("d")).toBeDefined();
    expect(await session.storage.getLeafId()).toBe(own);
  });
});

describe("resuming a session", () => {
  it("[WS20] moves durably where another device went on, and writes nothing where it stays", async () => {
    const { id, session } = await workspace.createSession({ cwd: "/" });
    const mine = await session.appendMessage({ role: "user", content: "mine" });
    await closeAll();
    store = await openLmdbStore({ path: folder });
    // The same store as another device: what it writes is there as if it had come from the relay.
    workspace = await openWorkspace({ store, device: { id: "device-2", name: "phone" }, workspaceKey });
    const theirs = await (await workspace.openSession(id)).session.appendMessage({ role: "user", content: "theirs" });
    await closeAll();
    await openAll();
    const shared = await workspace.openSession(id);
    expect(await shared.resume("own")).toMatchObject({ kind: "stay", toId: mine });
    expect(await shared.storage.getEntries()).toHaveLength(2);
    const plan = { kind: "fast-forward", fromId: mine, toId: theirs, entries: 1, deviceIds: ["device-2"] };
    expect(shared.planResume("fast-forward")).toEqual(plan);
    expect(await shared.resume("fast-forward")).toEqual(plan);
    expect(await shared.storage.getLeafId()).toBe(theirs);
    await closeAll();
    await openAll();
    expect(await (await workspace.openSession(id)).storage.getLeafId()).toBe(theirs);
  });
});

/** Bytes that do not compress, the same ones at every call. */
function makeNoise(byteLength: number): Buffer {
  return createCipheriv("aes-256-ctr", workspaceKey, new Uint8Array(16)).update(Buffer.alloc(byteLength));
}

/** A store whose small values cannot be read while `fails` is set; counts the logs that are open. */
class StoreWithFailingReads implements UpdateStore {
  fails = false;
  openLogs = 0;
  readonly #store: UpdateStore;

  constructor(store: UpdateStore) {
    this.#store = store;
  }

  async openLog(name: string): Promise<UpdateLog> {
    const log = await this.#store.openLog(name);
    this.openLogs += 1;
    return {
      append: (update) => log.append(update),
      read: (after) => log.read(after),
      lastSeq: () => log.lastSeq(),
      replaceRange: (from, to, merged) => log.replaceRange(from, to, merged),
      readDerived: (slot) => log.readDerived(slot),
      writeDerived: (slot, data) => log.writeDerived(slot, data),
      onForeignAppend: (listener) => log.onForeignAppend(listener),
      close: async () => {
        this.openLogs -= 1;
        await log.close();
      },
    };
  }

  async readValue(key: string): Promise<Uint8Array | undefined> {
    if (this.fails) throw new SessionError("storage", "The disk does not answer.");
    return this.#store.readValue(key);
  }

  writeValue(key: string, value: Uint8Array | undefined): Promise<void> {
    return this.#store.writeValue(key, value);
  }

  listLogs(): Promise<string[]> {
    return this.#store.listLogs();
  }

  deleteLog(name: string): Promise<void> {
    return this.#store.deleteLog(name);
  }

  onForeignChange(listener: () => void): () => void {
    return this.#store.onForeignChange(listener);
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
