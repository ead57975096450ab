import { join } from "node:path";
import { SessionError } from "@coppice/core";
import { JsonlSessionStorage } from "@coppice/storage-jsonl";
import { describe, expect, it, onTestFinished } from "vitest";
import { knowsAll, readBranch, readContext, readLabels } from "./coppice-reading.ts";
import { type PiReader, type PiReading, piReaders, readWithPi } from "./pi-readers.ts";
import { type ExpectedFile, findSessionFolders } from "./session-folders.ts";

/** Names of the readers in `expected.json`. */
const expectedNames: Readonly<Record<PiReader, string>> = { "0.80": "core80", "0.82": "core82", "1.6": "ca16" };

async function openFile(path: string): Promise<JsonlSessionStorage> {
  const storage = await JsonlSessionStorage.open(path);
  onTestFinished(() => storage.close());
  return storage;
}

function expectedReading(expected: ExpectedFile | undefined, reader: PiReader) {
  const reading = expected?.readers?.[expectedNames[reader]];
  return reading?.opened ? reading : undefined;
}

/** Who wrote a file: only pi's agent core has these types. */
function writerOf({ types = {} }: ExpectedFile): PiReader {
  return "leaf" in types || "active_tools_change" in types ? "0.80" : "1.6";
}

/** The reading, or undefined when pi refuses the file. */
async function tryReadWithPi(reader: PiReader, path: string): Promise<PiReading | undefined> {
  try {
    return await readWithPi(reader, path);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return undefined;
  }
}

function countRoles(messages: readonly { role: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { role } of messages) counts[role] = (counts[role] ?? 0) + 1;
  return counts;
}

describe.each(findSessionFolders())("$name", ({ path: folder, fileNames, expectedByFile }) => {
  const withReaders = fileNames.filter((name) => expectedByFile[name]?.readers !== undefined);

  it.each(withReaders)("[PI6] %s has the messages, model and thinking level that pi was seen to find", async (name) => {
    const storage = await openFile(join(folder, name));
    const expected = expectedByFile[name] as ExpectedFile;
    let readings = 0;
    for (const reader of piReaders) {
      const reading = expectedReading(expected, reader);
      if (reading === undefined) continue;
      readings++;
      const leafId = await storage.getLeafId();
      const branch = await readBranch(storage, reader, leafId);
      const { messages, model, thinkingLevel } = readContext(branch, reader);
      const found = {
        entries: (await storage.getEntries()).length,
        branch: branch.length,
        context: messages.length,
        roles: countRoles(messages),
        model,
        thinking: thinkingLevel,
        name: await storage.getSessionName(),
        labels: Object.keys(await readLabels(storage)).length,
      };
      expect(found, reader).toEqual({ name: undefined, ...pick(reading, Object.keys(found)) });
      // pi gives the entries of a file of version 1 other ids each time.
      if (storage.report.fileVersion === 3) expect(leafId).toBe(reading.leaf);
    }
    expect(readings).toBeGreaterThan(0);
  });

  it.each(withReaders)("[PI7] %s has, without being told who wrote it, the context of its writer", async (name) => {
    const path = join(folder, name);
    const storage = await openFile(path);
    const { context } = await readWithPi(writerOf(expectedByFile[name] as ExpectedFile), path);
    const { activeToolNames, ...found } = readContext(await storage.getPathToRoot(await storage.getLeafId()));
    expect({ activeToolNames: null, ...context }).toEqual({ ...found, activeToolNames });
  });

  it.each(fileNames)("[PI8] %s is read as pi's own readers read it", async (name) => {
    const path = join(folder, name);
    const refusal = expectedByFile[name]?.refused;
    if (refusal !== undefined) return expect(openFile(path)).rejects.toMatchObject({ code: refusal });
    const storage = await openFile(path);
    const ids = (await storage.getEntries()).map(({ id }) => id);
    for (const reader of piReaders) {
      const reading = await tryReadWithPi(reader, path);
      if (reading === undefined) {
        expect(expectedReading(expectedByFile[name], reader)).toBeUndefined();
        continue;
      }
      // Of several entries with one id pi shows the last and Coppice the first (ST1), so there is nothing to compare.
      if (new Set(reading.ids).size < reading.ids.length) continue;
      const toCoppice = idTranslator(reading.ids, ids);
      const branch = await tryReadBranch(storage, reader, toCoppice(reading.leafId));
      if (branch === undefined) continue;
      expect(reading.ids.map(toCoppice), reader).toEqual(ids);
      expect(reading.branchIds.map(toCoppice), reader).toEqual(branch.map(({ id }) => id));
      if (knowsAll(reader, branch)) expect(readContext(branch, reader), reader).toEqual(reading.context);
      expect(await storage.getSessionName(), reader).toBe(reading.name);
      expect(await readLabels(storage), reader).toEqual(reading.labels);
      if (reader === "0.80") expect(await storage.getLeafId()).toBe(reading.leafId);
    }
  });
});

/** From pi's ids to Coppice's, which differ only where both had to make them up. */
function idTranslator(piIds: readonly string[], ids: readonly string[]): (id: string | null) => string | null {
  const idByPiId = new Map(piIds.map((piId, index) => [piId, ids[index] ?? piId]));
  return (id) => (id === null ? null : (idByPiId.get(id) ?? id));
}

/** Undefined where the branch leads to a missing entry: pi 1.6 starts there, Coppice and the agent core refuse it. */
async function tryReadBranch(storage: JsonlSessionStorage, reader: PiReader, leafId: string | null) {
  try {
    return await readBranch(storage, reader, leafId);
  } catch (error) {
    if (reader !== "1.6" || !(error instanceof SessionError) || error.code !== "invalid_session") throw error;
    return undefined;
  }
}

function pick(value: object, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}
