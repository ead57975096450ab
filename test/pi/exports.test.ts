import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SessionError, type SessionStorage } from "@coppice/core";
import { exportForPi, exportForPiAgentCore, JsonlSessionStorage } from "@coppice/storage-jsonl";
import { describe, expect, it, onTestFinished } from "vitest";
import { knowsAll, readBranch, readContext, readLabels } from "./coppice-reading.ts";
import { createStorage } from "./coppice-storages.ts";
import { type PiReader, type PiReading, readWithPi } from "./pi-readers.ts";
import { findSessionFolders } from "./session-folders.ts";

/** So many entries of a file are taken as the place to stand on, besides its leaf and before the first. */
const LEAVES_PER_FILE = 5;
/** Of files with more entries fewer: reading them takes pi a second. */
const LARGE_FILE_ENTRIES = 500;
const LEAVES_PER_LARGE_FILE = 1;

/** Where to stand: not where a branch leads to no root, which none of pi's readers survives. */
async function findLeaves(storage: SessionStorage): Promise<(string | null)[]> {
  const entries = await storage.getEntries();
  const count = entries.length > LARGE_FILE_ENTRIES ? LEAVES_PER_LARGE_FILE : LEAVES_PER_FILE;
  const step = Math.ceil((entries.length + 1) / (count + 1));
  const candidates = [
    await storage.getLeafId(),
    null,
    ...entries.filter((_, index) => (index + 1) % step === 0).map(({ id }) => id),
  ];
  const leaves = new Set<string | null>();
  for (const id of candidates) if (await hasRoot(storage, id)) leaves.add(id);
  return [...leaves];
}

async function hasRoot(storage: SessionStorage, leafId: string | null): Promise<boolean> {
  try {
    await storage.getPathToRoot(leafId);
    return true;
  } catch (error) {
    if (error instanceof SessionError && error.code === "invalid_session") return false;
    throw error;
  }
}

async function readExport(reader: PiReader, lines: AsyncIterable<string>, folder: string): Promise<PiReading> {
  const path = join(folder, "export.jsonl");
  let text = "";
  for await (const line of lines) text += line;
  await writeFile(path, text);
  return readWithPi(reader, path);
}

/** What both exports keep, whoever reads them. */
async function expectSame(storage: SessionStorage, reader: PiReader, leafId: string | null, reading: PiReading) {
  const branch = await readBranch(storage, reader, leafId);
  const context = readContext(branch, reader);
  if (knowsAll(reader, branch)) expect(reading.context, `${reader} at ${leafId}`).toEqual(context);
  expect(reading.name).toBe(await storage.getSessionName());
  expect(reading.labels).toEqual(await readLabels(storage));
  return branch.map(({ id }) => id);
}

async function expectExportsToOpen(storage: SessionStorage): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-pi-export-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const ids = (await storage.getEntries()).map(({ id }) => id);
  for (const leafId of await findLeaves(storage)) {
    for (const reader of ["0.80", "0.82"] as const) {
      const reading = await readExport(reader, exportForPiAgentCore(storage, { leafId }), folder);
      expect(reading.leafId).toBe(leafId);
      expect(reading.branchIds).toEqual(await expectSame(storage, reader, leafId, reading));
      expect(reading.ids.slice(0, ids.length)).toEqual(ids);
    }
    const reading = await readExport("1.6", exportForPi(storage, { leafId }), folder);
    const branchIds = await expectSame(storage, "1.6", leafId, reading);
    // Where the leaf cannot be the last line, an entry of its own stands for it there.
    const isMarked = reading.leafId !== leafId && reading.leafId !== null && !ids.includes(reading.leafId);
    expect(isMarked ? reading.branchIds.slice(0, -1) : reading.branchIds, `1.6 at ${leafId}`).toEqual(branchIds);
    expect(isMarked || reading.leafId === leafId).toBe(true);
  }
}

describe.each(findSessionFolders())("$name", ({ path: folder, fileNames, expectedByFile }) => {
  const readable = fileNames.filter((name) => expectedByFile[name]?.refused === undefined);

  it.each(readable)(
    "[PI9] exports of %s open in pi's readers at the same branch with the same context",
    async (name) => {
      const storage = await JsonlSessionStorage.open(join(folder, name));
      onTestFinished(() => storage.close());
      await expectExportsToOpen(storage);
    },
  );
});

it("[PI9] so do those of a session that was shared", async () => {
  const [fixtures] = findSessionFolders();
  const file = await JsonlSessionStorage.open(join(fixtures?.path ?? "", "several-roots.jsonl"));
  const place = await createStorage("yjs");
  onTestFinished(() => place.close());
  const { storage } = place;
  const texts = (await file.getEntries()).map(({ id }) => file.getEntryJson(id));
  await storage.appendJson((await Promise.all(texts)).filter((text) => text !== undefined));
  await file.close();
  await expectExportsToOpen(storage);
});
