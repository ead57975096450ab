import { InMemorySessionStorage, LineMatcher, SessionError, type SessionStorage } from "@coppice/core";
import { readSessionFile, type WriteForPiOptions, writeForPi } from "@coppice/storage-jsonl";

/**
 * As `writeForPi`, also for a file of an old format that pi has brought to the new one: pi gave its entries ids of its
 * own, and what is appended goes by those. Rejects as `writeForPi`.
 */
export async function writePiFile(
  storage: SessionStorage,
  options: WriteForPiOptions & { readonly leafId: string | null },
): Promise<void> {
  const matcher = await findMigrated(storage, options.path);
  if (matcher === undefined) {
    await writeForPi(storage, options);
    return;
  }
  const asInFile = new InMemorySessionStorage({ metadata: await storage.getMetadata() });
  const { leafId } = options;
  await asInFile.appendBatch(readAsInFile(storage, matcher));
  await writeForPi(asInFile, { ...options, leafId: leafId === null ? null : matcher.storedId(leafId) });
}

async function* readAsInFile(storage: SessionStorage, matcher: LineMatcher): AsyncGenerator<string> {
  for (const { id } of await storage.getEntries()) {
    const json = await storage.getEntryJson(id);
    if (json !== undefined) yield await matcher.match(json);
  }
}

/** What finds a session's entries in a file under the ids that pi gave them; undefined when the file has the session's. */
async function findMigrated(storage: SessionStorage, path: string): Promise<LineMatcher | undefined> {
  try {
    if (await beginsAsStored(storage, path)) return undefined;
    const { lines } = await readSessionFile(path);
    const inFile = new InMemorySessionStorage();
    await inFile.appendBatch(lines, { onRefused: () => undefined });
    return new LineMatcher(inFile);
  } catch (error) {
    if (error instanceof SessionError && error.code === "not_found") return undefined;
    throw error;
  }
}

/** Whether the first entry of a file has an id that the session knows; true for a file without entries. */
async function beginsAsStored(storage: SessionStorage, path: string): Promise<boolean> {
  for await (const { entry } of await readSessionFile(path)) return (await storage.getEntry(entry.id)) !== undefined;
  return true;
}
