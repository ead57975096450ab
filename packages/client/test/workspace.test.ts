import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UpdateStore } from "@coppice/core";
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
    expect(again.status()).toMatchObject({ connection: "offline", synced: false, unsaved: 0 });
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
});
