import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UpdateStore } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import {
  createRoomKeys,
  deriveRoomKeys,
  deriveWorkspaceRoom,
  RecordCodec,
  RecordLog,
  type RoomKeys,
} from "@coppice/storage-yjs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as Y from "yjs";
import { openWorkspace } from "../src/workspace.ts";
import type { Workspace } from "../src/workspace-types.ts";

// What a newer version of Coppice might have left, made by hand: an older one says "upgrade", reads what it can, and
// leaves what it does not understand as it is.

let folder: string;
let store: UpdateStore;
let workspace: Workspace;

const device = { id: "device-1", name: "laptop" };
const workspaceKey = new Uint8Array(32).fill(9);
const sessionId = "session-1";
const room = deriveRoomKeys(workspaceKey, sessionId);
const upgrade = { code: "version_mismatch", message: expect.stringContaining("upgrade") };

async function open(): Promise<void> {
  store = await openLmdbStore({ path: folder });
  workspace = await openWorkspace({ store, device, workspaceKey });
}

async function close(): Promise<void> {
  await workspace.close();
  await store.close();
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "coppice-newer-"));
  await open();
  const { session } = await workspace.createSession({ id: sessionId, cwd: "/home/ada" });
  await session.appendMessage({ role: "user", content: "hello" });
  await close();
  store = await openLmdbStore({ path: folder });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const toBytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

/** Opens, hands over, and closes the workspace alone. */
async function using(use: () => Promise<void>): Promise<void> {
  workspace = await openWorkspace({ store, device, workspaceKey });
  try {
    await use();
  } finally {
    await workspace.close();
  }
}

/** Appends records to a room's log as another program with these keys would. */
async function appendForeign(keys: RoomKeys, codecSessionId: string, jsons: readonly string[]): Promise<void> {
  const log = await store.openLog(keys.roomId);
  const doc = new Y.Doc();
  for await (const { update } of log.read()) Y.applyUpdate(doc, update);
  const before = Y.encodeStateVector(doc);
  const codec = new RecordCodec({ sessionId: codecSessionId, keys });
  const records = new RecordLog(doc, () => undefined);
  for (const json of jsons) {
    const { type, id } = JSON.parse(json) as { type: string; id: string };
    const fields = { id, type, parentId: null, timestamp: "t", deviceId: "d", n: records.recordCount + 1 };
    records.append([codec.prepareRecord({ ...fields, json })]);
  }
  await log.append(Y.encodeStateAsUpdate(doc, before));
  await log.close();
}

describe("a value of this device that a newer version has written", () => {
  const refusing: [what: string, key: string, value: Uint8Array][] = [
    ["the place of the device", `leaf/${room.roomId}`, toBytes({ v: 2, at: { entry: "e" } })],
    ["that it has had all of a session", `synced/${room.roomId}`, Uint8Array.of(2, 7)],
    ["the order of arrival", `arrivals/${room.roomId}`, Uint8Array.of(2, 0, 0)],
    ["what was set aside", `aside/${room.roomId}`, Uint8Array.of(2, 0)],
  ];
  it.each(refusing)(
    "[WS50] %s: the session says upgrade, the others open, and the value stays",
    async (_, key, value) => {
      await store.writeValue(key, value);
      await using(async () => {
        await expect(workspace.openSession(sessionId)).rejects.toMatchObject(upgrade);
        const { session } = await workspace.createSession({ cwd: "/" });
        await session.appendMessage({ role: "user", content: "elsewhere" });
        expect(workspace.listSessions()).toHaveLength(2);
      });
      expect(await store.readValue(key)).toEqual(value);
      await store.writeValue(key, undefined);
      await using(async () => {
        expect(await (await workspace.openSession(sessionId)).storage.getEntries()).toHaveLength(1);
      });
    },
  );

  const closing: [what: string, key: string, value: unknown][] = [
    ["which workspace it is", "workspace", { v: 2, rooms: [] }],
    ["the key of the device", "device-key/device-1", { v: 2, wrapped: "" }],
    ["the name of the device", "device-name/device-1", { v: 2, names: {} }],
    ["the id after a copy", "device-after/device-1", { v: 3, ids: [] }],
  ];
  it.each(closing)("[WS50] %s: the workspace says upgrade and opens nothing", async (_, key, value) => {
    await store.writeValue(key, toBytes(value));
    await expect(openWorkspace({ store, device, workspaceKey })).rejects.toMatchObject(upgrade);
    expect(await store.readValue(key)).toEqual(toBytes(value));
  });

  it("[WS50] what it knows of a session: the list leaves it out, and changing it is refused", async () => {
    await using(async () => {
      await workspace.setLocals(sessionId, { approvals: { all: true } });
    });
    const log = await store.openLog(deriveWorkspaceRoom(workspaceKey).roomId);
    await log.close();
    const { createHash } = await import("node:crypto");
    const key = `locals/${createHash("sha256").update(sessionId).digest("hex").slice(0, 32)}`;
    expect(await store.readValue(key)).toEqual(toBytes({ cwd: "/home/ada", v: 1, approvals: { all: true } }));
    const value = toBytes({ v: 2, folders: [] });
    await store.writeValue(key, value);
    await using(async () => {
      expect(workspace.listSessions()[0]).not.toHaveProperty("cwd");
      await expect(workspace.setLocals(sessionId, { cwd: "/" })).rejects.toMatchObject(upgrade);
      await workspace.openSession(sessionId);
    });
    expect(await store.readValue(key)).toEqual(value);
  });

  it("[WS50] its list of replicas: the device shows no cursor, and works", async () => {
    const value = toBytes({ v: 3, replicas: [] });
    await store.writeValue("replicas", value);
    await using(async () => {
      const { session, getCursors } = await workspace.openSession(sessionId).then((shared) => ({
        session: shared.session,
        getCursors: () => shared.getCursors(),
      }));
      await session.appendMessage({ role: "user", content: "works" });
      expect(getCursors()).toEqual([]);
    });
    expect(await store.readValue("replicas")).toEqual(value);
  });
});

describe("records that a newer version has written", () => {
  const base = { parentId: null, timestamp: "t" };

  it("[WS44] of a known kind: kept, counted, and shown at the session; what is not concerned goes on", async () => {
    const list = deriveWorkspaceRoom(workspaceKey);
    await appendForeign(list, "workspace", [
      JSON.stringify({ type: "workspace_session_change", v: 2, id: "n1", ...base, sessionId, title: "New" }),
      JSON.stringify({ type: "workspace_session", v: 3, id: "n2", ...base, sessionId: "session-2", made: "2026" }),
      JSON.stringify({ type: "workspace_device", v: 2, id: "n3", ...base, deviceId: "device-2" }),
    ]);
    await using(async () => {
      expect(workspace.newerRecords).toBe(3);
      expect(workspace.listSessions()).toMatchObject([{ id: sessionId, needsUpgrade: true }]);
      await expect(workspace.openSession("session-2")).rejects.toMatchObject(upgrade);
      await expect(workspace.archiveSession("session-2")).rejects.toMatchObject(upgrade);
      await expect(workspace.createSession({ id: "session-2", cwd: "/" })).rejects.toMatchObject(upgrade);
      const importing = { headerJson: JSON.stringify({ type: "session", id: "session-2", timestamp: "t" }), lines: [] };
      await expect(workspace.importSession(importing)).rejects.toMatchObject(upgrade);
      await workspace.archiveSession(sessionId);
      expect(workspace.listSessions()).toMatchObject([{ archived: true, needsUpgrade: true }]);
    });
  });

  it("[WS44] in a session: what can be read is shown, and the problems say upgrade", async () => {
    await using(async () => {
      const { session, getProblems } = await workspace.openSession(sessionId).then((shared) => ({
        session: shared.session,
        getProblems: () => shared.getProblems(),
      }));
      expect(getProblems()).toEqual([]);
      await session.appendMessage({ role: "user", content: "two" });
    });
    const log = await store.openLog(room.roomId);
    const doc = new Y.Doc();
    for await (const { update } of log.read()) Y.applyUpdate(doc, update);
    const before = Y.encodeStateVector(doc);
    doc.getArray("entries").push([Uint8Array.of(2, 0, 1, 2, 3, 4)]);
    await log.append(Y.encodeStateAsUpdate(doc, before));
    await log.close();
    await using(async () => {
      const shared = await workspace.openSession(sessionId);
      expect((await shared.session.buildContext()).messages).toHaveLength(2);
      expect(shared.getProblems()).toMatchObject([{ ...upgrade, records: 1 }]);
      await shared.session.appendMessage({ role: "user", content: "three" });
    });
  });
});

describe("a key that is not here", () => {
  it("[WS45] another workspace's key is refused, and nothing is changed", async () => {
    const logsBefore = await store.listLogs();
    const wrongKey = new Uint8Array(32).fill(8);
    const refusal = { code: "wrong_key", message: expect.stringContaining("pairing link") };
    await expect(openWorkspace({ store, device, workspaceKey: wrongKey })).rejects.toMatchObject(refusal);
    // A store of before it was noted whose it is.
    await store.writeValue("workspace", undefined);
    await expect(openWorkspace({ store, device, workspaceKey: wrongKey })).rejects.toMatchObject(refusal);
    expect(await store.listLogs()).toEqual(logsBefore);
    expect(await store.readValue("workspace")).toBeUndefined();
    await using(async () => {
      expect(workspace.listSessions()).toHaveLength(1);
    });
  });

  it("[WS46] a session with records of a key that has not come: the rest is read and written, and it says why", async () => {
    const unknown = createRoomKeys(room.roomId, new Uint8Array(32).fill(7));
    const entry = { type: "message", id: "sealed", ...base(), message: { role: "user", content: "later" } };
    await appendForeign(unknown, sessionId, [JSON.stringify(entry)]);
    await using(async () => {
      const shared = await workspace.openSession(sessionId);
      expect(shared.getProblems()).toMatchObject([{ code: "wrong_key", records: 1 }]);
      await shared.session.appendMessage({ role: "user", content: "goes on" });
      expect(await shared.storage.getEntries()).toHaveLength(2);
    });
    await appendForeign(deriveWorkspaceRoom(workspaceKey), "workspace", [
      JSON.stringify({ type: "workspace_session_key", v: 1, id: "k", ...base(), sessionId, key: "07".repeat(32) }),
    ]);
    await using(async () => {
      const shared = await workspace.openSession(sessionId);
      expect(shared.getProblems()).toEqual([]);
      expect((await shared.storage.getEntries()).map(({ id }) => id)).toContain("sealed");
    });
  });

  const base = () => ({ parentId: null, timestamp: "2026-01-02T03:04:05.678Z" });
});
