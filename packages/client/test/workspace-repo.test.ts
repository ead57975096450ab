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

const laptop = { id: "device-1", name: "laptop", person: "Ada" };
const workspaceKey = new Uint8Array(32).fill(9);

async function openAs(device: { id: string; name: string }): Promise<void> {
  store = await openLmdbStore({ path: folder });
  workspace = await openWorkspace({ store, device, workspaceKey });
}

async function closeAll(): Promise<void> {
  await workspace.close();
  await store.close();
}

/** The same store as another device: what it writes is there as if it had come from the relay. */
async function reopenAs(device: { id: string; name: string }): Promise<void> {
  await closeAll();
  await openAs(device);
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "coppice-workspace-repo-"));
  await openAs(laptop);
});
afterEach(async () => {
  await closeAll();
  rmSync(folder, { recursive: true, force: true });
});

const say = (content: string): { role: "user"; content: string } => ({ role: "user", content });

describe("a workspace as a repository of sessions", () => {
  it("[WS35] creates, lists, opens, forks and deletes with the methods of every repository", async () => {
    const metadata = { tag: "木" };
    const made = await workspace.create({ cwd: "/home/ada/one", name: "One", metadata });
    const { id } = await made.getMetadata();
    const asked = await made.appendMessage(say("why?"));
    await made.appendMessage({ role: "assistant", content: [] });
    const [listed] = await workspace.list();
    expect(listed).toMatchObject({ id, name: "One", cwd: "/home/ada/one", archived: false, deleted: false });
    if (listed === undefined) return;
    expect(await workspace.open(listed)).toBe(made);
    const fork = await workspace.fork(listed, { entryId: asked, position: "at" });
    const forked = await fork.getMetadata();
    expect(forked).toMatchObject({ parentSessionPath: id, metadata, cwd: "/home/ada/one" });
    expect((await workspace.list()).map((session) => session.id)).toEqual([forked.id, id]);
    await workspace.delete(listed);
    await workspace.delete({ id: "nowhere" });
    expect((await workspace.list()).map((session) => session.id)).toEqual([forked.id]);
    expect((await workspace.list({ deleted: true })).map(({ deleted }) => deleted)).toEqual([false, true]);
    await expect(workspace.create({ id, cwd: "/" })).rejects.toMatchObject({ code: "invalid_session" });
    await expect(workspace.open({ id: "nowhere" })).rejects.toMatchObject({ code: "not_found" });
  });

  it("[WS36] a fork has the branch at or before an entry, or everything, with the ids and texts of its source", async () => {
    const { id, session, storage } = await workspace.createSession({
      cwd: "/home/ada/one",
      gitRemote: "git@host:a.git",
    });
    const first = await session.appendMessage(say("first"));
    const answer = await session.appendMessage({ role: "assistant", content: [] });
    const second = await session.appendMessage(say("second"));
    await session.moveTo(first);
    const other = await session.appendMessage(say("other branch"));
    const idsOf = async (entryId?: string, position?: "at" | "before"): Promise<string[]> => {
      const fork = await workspace.forkSession(id, {
        ...(entryId === undefined ? {} : { entryId }),
        ...(position === undefined ? {} : { position }),
      });
      const entries = await fork.storage.getEntries();
      for (const { id: entryId } of entries)
        expect(await fork.storage.getEntryJson(entryId)).toBe(await storage.getEntryJson(entryId));
      await fork.session.appendMessage(say("goes on"));
      return entries.filter(({ type }) => type === "message").map((entry) => entry.id);
    };
    expect(await idsOf(second, "at")).toEqual([first, answer, second]);
    expect(await idsOf(second)).toEqual([first, answer]);
    expect(await idsOf(other, "before")).toEqual([first]);
    expect(await idsOf()).toEqual([first, answer, second, other]);
    await expect(idsOf("nobody")).rejects.toMatchObject({ code: "invalid_fork_target" });
    await expect(idsOf(answer)).rejects.toMatchObject({ code: "invalid_fork_target" });
    await expect(workspace.forkSession("nowhere")).rejects.toMatchObject({ code: "not_found" });
    const forks = workspace.listSessions().filter(({ parentSession }) => parentSession === id);
    expect(forks).toHaveLength(4);
    for (const fork of forks) expect(fork).toMatchObject({ cwd: "/home/ada/one", gitRemote: "git@host:a.git" });
  });

  it("[WS36] a session that another device has made is forked like an own one", async () => {
    const { id, session } = await workspace.createSession({ cwd: "/home/ada/one", name: "One" });
    const first = await session.appendMessage(say("first"));
    await reopenAs({ id: "device-2", name: "phone" });
    const fork = await workspace.forkSession(id, { cwd: "/home/phone", name: "Mine" });
    expect(await fork.storage.getEntryJson(first)).toBe(
      await (await workspace.openSession(id)).storage.getEntryJson(first),
    );
    expect(workspace.listSessions()[0]).toMatchObject({ parentSession: id, cwd: "/home/phone", name: "Mine" });
  });

  it("[WS37] archived sessions are listed as such, by choice alone or not at all, until they are taken out", async () => {
    const { id } = await workspace.createSession({ cwd: "/" });
    const { id: other } = await workspace.createSession({ cwd: "/" });
    await workspace.archiveSession(id);
    await workspace.archiveSession(id);
    await reopenAs(laptop);
    const idsOf = (archived?: boolean): string[] =>
      workspace.listSessions(archived === undefined ? {} : { archived }).map((session) => session.id);
    expect([idsOf(true), idsOf(false)]).toEqual([[id], [other]]);
    expect(idsOf()).toHaveLength(2);
    await workspace.unarchiveSession(id);
    expect(idsOf(true)).toEqual([]);
    await expect(workspace.archiveSession("nowhere")).rejects.toMatchObject({ code: "not_found" });
  });

  it("[WS8] renaming goes through the session itself, and the list says the same at once", async () => {
    const { id } = await workspace.createSession({ cwd: "/", name: "before" });
    const session = await workspace.renameSession(id, "after\nall");
    expect(await session.storage.getSessionName()).toBe("after all");
    expect(workspace.listSessions()[0]?.name).toBe("after all");
    await workspace.renameSession(id, "  ");
    await reopenAs(laptop);
    expect(workspace.listSessions()[0]).not.toHaveProperty("name");
    await expect(workspace.renameSession("nowhere", "x")).rejects.toMatchObject({ code: "not_found" });
  });

  it("[WS38] folder, project and approvals are this device's own, and no other device sees them", async () => {
    const { id } = await workspace.createSession({ cwd: "/home/ada/one" });
    await workspace.setLocals(id, { projectPath: "/home/ada", approvals: { "npm test": true } });
    await Promise.all([workspace.setLocals(id, { cwd: "/elsewhere" }), workspace.setLocals(id, { approvals: {} })]);
    await reopenAs(laptop);
    const locals = { cwd: "/elsewhere", projectPath: "/home/ada", approvals: {} };
    expect(workspace.listSessions({ cwd: "/elsewhere" })).toMatchObject([{ id, ...locals }]);
    expect(workspace.listSessions({ cwd: "/home/ada/one" })).toEqual([]);
    await expect(workspace.setLocals("nowhere", {})).rejects.toMatchObject({ code: "not_found" });
  });

  it("[WS39] hints about the code are everybody's, and hold no password", async () => {
    const { id } = await workspace.createSession({ cwd: "/", gitRemote: "https://ada:secret@host.example/a/b.git" });
    await workspace.setHints(id, { gitCommit: "c0ffee" });
    await reopenAs({ id: "device-2", name: "phone" });
    expect(workspace.listSessions()).toMatchObject([
      { gitRemote: "https://host.example/a/b.git", gitCommit: "c0ffee" },
    ]);
    await expect(workspace.setHints("nowhere", {})).rejects.toMatchObject({ code: "not_found" });
  });

  it("[WS40] each device has a key pair: the public half is listed, the other half stays in its store", async () => {
    const [made] = workspace.devices();
    expect(made).toMatchObject({
      ...laptop,
      isThis: true,
      isFormer: false,
      publicKey: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const stored = await store.readValue("device-key/device-1");
    const { secretKey, publicKey } = JSON.parse(new TextDecoder().decode(stored)) as { [name: string]: string };
    expect(publicKey).toBe(made?.publicKey);
    // RFC 7748, section 6.1: the public half is the secret half times the base point.
    const { createPrivateKey, createPublicKey } = await import("node:crypto");
    const pkcs8 = Buffer.concat([
      Buffer.from("302e020100300506032b656e04220420", "hex"),
      Buffer.from(secretKey ?? "", "hex"),
    ]);
    const spki = createPublicKey(createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" }));
    expect(spki.export({ format: "der", type: "spki" }).subarray(-32).toString("hex")).toBe(publicKey);
    await reopenAs(laptop);
    expect(workspace.devices()).toEqual([made]);
    await reopenAs({ id: "device-2", name: "phone" });
    expect(workspace.devices()).toMatchObject([
      { id: "device-1", isThis: false },
      { id: "device-2", isThis: true },
    ]);
    expect(workspace.devices()[1]?.publicKey).not.toBe(publicKey);
  });

  it("[WS41] a device that was renamed keeps its name, whatever it is opened with", async () => {
    await workspace.renameDevice("kitchen\ntable ");
    expect(workspace.device.name).toBe("kitchen table");
    await reopenAs(laptop);
    expect(workspace.device).toEqual({ ...laptop, name: "kitchen table" });
    expect(workspace.devices()).toMatchObject([{ id: "device-1", name: "kitchen table", person: "Ada" }]);
    expect(workspace.deviceNames().get("device-1")).toBe("kitchen table");
    await expect(workspace.renameDevice(" ")).rejects.toMatchObject({ code: "invalid_entry" });
  });
});

describe("a session's keys", () => {
  it("[WS42] after a rotation everything is written with the new key, and all of it is read after a restart", async () => {
    const { id, session, storage } = await workspace.createSession({ cwd: "/" });
    const [before] = workspace.listSessions();
    const old = await session.appendMessage(say("old"));
    await workspace.rotateKey(id);
    const [after] = workspace.listSessions();
    expect(after?.roomId).toBe(before?.roomId);
    expect(after?.olderKeyIds).toEqual([before?.keyId]);
    const fresh = await session.appendMessage(say("new"));
    const keyIds = async (): Promise<string[]> => {
      const log = await store.openLog(before?.roomId ?? "");
      const updates: Buffer[] = [];
      for await (const { update } of log.read()) updates.push(Buffer.from(update));
      const bytes = Buffer.concat(updates);
      return [before, after]
        .map((listed) => listed?.keyId ?? "")
        .filter((keyId) => bytes.includes(Buffer.from(keyId, "hex")));
    };
    expect(await keyIds()).toEqual([before?.keyId, after?.keyId]);
    expect((await storage.getEntries()).map((entry) => entry.id)).toEqual([old, fresh]);
    await reopenAs(laptop);
    const again = await workspace.openSession(id);
    expect((await again.session.buildContext()).messages).toHaveLength(2);
    await expect(workspace.rotateKey("nowhere")).rejects.toMatchObject({ code: "not_found" });
  });
});
