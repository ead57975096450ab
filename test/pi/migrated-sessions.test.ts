import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ImportResult, Workspace } from "@coppice/client";
import { InMemorySessionStorage, LineMatcher } from "@coppice/core";
import { readSessionFile } from "@coppice/storage-jsonl";
import { afterEach, describe, expect, it } from "vitest";
import { Cleanup, makeStore, openDevice } from "../src/rooms-under-test.ts";
import { PiSessionManager, readWithPi } from "./pi-readers.ts";
import { findSessionFolders } from "./session-folders.ts";

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

/** Every file of an older format that tests know. */
const oldFiles: { name: string; path: string; version: number }[] = [];
for (const { path: folder, fileNames } of findSessionFolders()) {
  for (const name of fileNames) {
    const path = join(folder, name);
    const version = await readVersion(path);
    if (version === 1 || version === 2) oldFiles.push({ name, path, version });
  }
}

async function readVersion(path: string): Promise<number | undefined> {
  const [first = ""] = (await readFile(path, "utf8")).split("\n", 1);
  if (!first.startsWith('{"type":"session"')) return undefined;
  return JSON.parse(first).version ?? 1;
}

/** A copy that pi has opened, and so brought to format 3, and continued. */
async function letPiContinue(path: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-migrated-"));
  cleanup.add(() => rm(folder, { recursive: true }));
  const copy = join(folder, "session.jsonl");
  await copyFile(path, copy);
  const manager = PiSessionManager.open(copy);
  const [first, second] = manager.getEntries();
  if (first === undefined || second === undefined) throw new Error(`${path} has too few entries.`);
  manager.appendMessage({ role: "user", content: "and now?", timestamp: 1 });
  manager.appendLabelChange(second.id, "second");
  manager.branch(first.id);
  manager.appendMessage({ role: "user", content: "or so?", timestamp: 2 });
  return copy;
}

async function importFile(workspace: Workspace, path: string): Promise<ImportResult> {
  const file = await readSessionFile(path);
  return workspace.importSession({ headerJson: file.headerJson, lines: file.lines });
}

async function openWorkspaceOfOne(): Promise<Workspace> {
  return openDevice(cleanup, { name: "laptop", store: await makeStore(cleanup) });
}

/** Contents of the branch that the device stands on. */
async function readBranchTexts({ session }: ImportResult): Promise<string[]> {
  const branch = await session.storage.getPathToRoot(await session.storage.getLeafId());
  return branch.map(({ id, parentId, ...content }) => JSON.stringify(content));
}

describe.each(oldFiles)("$name", ({ path, version }) => {
  it("[WS79] imported as it was and then as pi has migrated and continued it, it stands there once", async () => {
    const workspace = await openWorkspaceOfOne();
    const old = await importFile(workspace, path);
    const ids = (await old.session.storage.getEntries()).map(({ id }) => id);
    const fromPi = await letPiContinue(path);
    const migrated = await importFile(workspace, fromPi);

    expect(migrated.written).toBe(3);
    const entries = await migrated.session.storage.getEntries();
    expect(entries.slice(0, ids.length).map(({ id }) => id)).toEqual(ids);
    expect(await migrated.session.storage.getChildren(null)).toHaveLength(1);
    expect(await migrated.session.storage.getLabel(ids[1] ?? "")).toBe("second");
    expect(await importFile(workspace, fromPi)).toMatchObject({ written: 0, known: ids.length + 3 });
    expect(await importFile(workspace, path)).toMatchObject({ written: 0, known: ids.length });
  });

  it("[WS79] imported as pi has migrated and continued it, an old copy adds nothing", async () => {
    const workspace = await openWorkspaceOfOne();
    const fromPi = await letPiContinue(path);
    const migrated = await importFile(workspace, fromPi);
    const before = await migrated.session.storage.getEntries();
    const leafId = await migrated.session.storage.getLeafId();

    expect(await importFile(workspace, path)).toMatchObject({ written: 0 });
    expect(await migrated.session.storage.getEntries()).toEqual(before);
    expect(await migrated.session.storage.getLeafId()).toBe(leafId);
  });

  it("[WS81] a device that the migrated copy is new to, and another that had the old one, stand at the same content", async () => {
    const fromPi = await letPiContinue(path);
    const fresh = await importFile(await openWorkspaceOfOne(), fromPi);
    const workspace = await openWorkspaceOfOne();
    await importFile(workspace, path);
    const { session } = await importFile(workspace, fromPi);
    const { leafId } = await readWithPi("1.6", fromPi);
    await session.session.moveTo(leafId);
    const texts = await readBranchTexts(fresh);
    expect(await session.storage.getEntry(leafId ?? "")).toMatchObject({ message: { content: "or so?" } });
    expect((await readBranchTexts({ ...fresh, session })).slice(-2)).toEqual(texts.slice(-2));
  });

  it("[WS82] the way back: what the workspace has is given with the ids of pi's file", async () => {
    const workspace = await openWorkspaceOfOne();
    const { session } = await importFile(workspace, path);
    const id = await session.session.appendMessage({ role: "user", content: "from the phone", timestamp: 3 });

    const fromPi = await readSessionFile(await letPiContinue(path));
    const inFile = new InMemorySessionStorage({
      metadata: { id: fromPi.header.id, createdAt: fromPi.header.timestamp },
    });
    await inFile.appendBatch(fromPi.lines);
    const fileIds = new Set((await inFile.getEntries()).map((entry) => entry.id));
    const matcher = new LineMatcher(inFile);
    const missing: Record<string, unknown>[] = [];
    for (const entry of await session.storage.getEntries()) {
      const json = await matcher.match((await session.storage.getEntryJson(entry.id)) ?? "");
      const inPi = JSON.parse(json);
      if (!fileIds.has(inPi.id)) missing.push(inPi);
    }
    expect(missing).toHaveLength(1);
    expect(missing).toMatchObject([{ id }]);
    expect(fileIds.has(String(missing[0]?.parentId))).toBe(true);
    expect(matcher.count > 0).toBe(version === 1);
  });
});

it("[WS79] files of format 1 and of format 2 are among those", () => {
  expect(new Set(oldFiles.map(({ version }) => version))).toEqual(new Set([1, 2]));
});
