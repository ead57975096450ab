import { randomUUID } from "node:crypto";
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { InMemorySessionStorage, LineMatcher, SessionError, type SessionStorage } from "@coppice/core";
import { exportForPi, findSessionFiles, readSessionFile } from "@coppice/storage-jsonl";

/** What a file for pi is made of. */
export interface PiFileOptions {
  /** Absolute path; a file that is there is only appended to. */
  readonly path: string;
  /** The folder pi is to work in: that of a new file's header. */
  readonly cwd: string;
  /** Where pi is to stand; null: before the first entry. */
  readonly leafId: string | null;
}

/** Type of the entry that keeps pi's place in the file when it is not the last line. As exports have it. */
const leafMarkerType = "coppice/leaf";
const newline = "\n";
const privateFileMode = 0o600;

/**
 * Makes a file that pi opens at a leaf with the whole tree, or brings the one that is there up to date: what it lacks is
 * appended, parents first and the place last, in one write that is on the disk when this settles. What stands in it
 * stays as it is.
 */
export async function writePiFile(storage: SessionStorage, { path, cwd, leafId }: PiFileOptions): Promise<void> {
  const present = await readPresent(path);
  const matcher = present === undefined ? undefined : await createMatcher(storage, present, path);
  const lines: string[] = [];
  let lastId: string | undefined;
  let isHeader = true;
  for await (const line of exportForPi(storage, { leafId, cwd })) {
    if (isHeader) {
      isHeader = false;
      if (present === undefined) lines.push(`${JSON.stringify({ ...JSON.parse(line), cwd })}${newline}`);
      continue;
    }
    // As the file has it, or is to have it: pi gave the entries of an old format ids of its own.
    const text = matcher === undefined ? line : `${await matcher.match(line.trimEnd())}${newline}`;
    const { id }: { id: string } = JSON.parse(text);
    lastId = id;
    if (!(present?.ids.has(id) ?? false)) lines.push(text);
  }
  // The place is where the file ends. What stood there already cannot be moved to its end, so that a marker goes there.
  const hasPlace =
    lastId === undefined || !(present?.ids.has(lastId) ?? false) || (lines.length === 0 && present?.lastId === lastId);
  if (!hasPlace && leafId !== null)
    lines.push(`${JSON.stringify(createMarker(matcher?.storedId(leafId) ?? leafId))}${newline}`);
  if (lines.length === 0) return;
  if (present !== undefined && !present.isTerminated) lines.unshift(newline);
  await appendDurably(path, lines.join(""), present === undefined ? "wx" : "a");
}

/** The file that pi has of a session in a folder; undefined: none. */
export async function findPiFile(folder: string, sessionId: string): Promise<string | undefined> {
  try {
    const { files } = await findSessionFiles(folder, { maxDepth: 0 });
    return files.find(({ header }) => header.id === sessionId)?.path;
  } catch (error) {
    if (error instanceof SessionError && error.code === "not_found") return undefined;
    throw error;
  }
}

interface PresentFile {
  readonly ids: ReadonlySet<string>;
  readonly lastId: string | undefined;
  readonly isTerminated: boolean;
}

async function readPresent(path: string): Promise<PresentFile | undefined> {
  try {
    const file = await readSessionFile(path);
    const ids = new Set<string>();
    let lastId: string | undefined;
    for await (const { entry } of file) {
      ids.add(entry.id);
      lastId = entry.id;
    }
    return { ids, lastId, isTerminated: file.report.hasFinalNewline };
  } catch (error) {
    if (error instanceof SessionError && error.code === "not_found") return undefined;
    throw error;
  }
}

/** What finds the entries of a file under the ids that pi gave them; undefined when the file has the workspace's. */
async function createMatcher(
  storage: SessionStorage,
  { ids }: PresentFile,
  path: string,
): Promise<LineMatcher | undefined> {
  const roots = await storage.getChildren(null);
  if (ids.size === 0 || roots.every(({ id }) => ids.has(id))) return undefined;
  const { lines } = await readSessionFile(path);
  const inFile = new InMemorySessionStorage();
  await inFile.appendBatch(lines, { onRefused: () => undefined });
  return new LineMatcher(inFile);
}

function createMarker(parentId: string): object {
  return {
    type: "custom",
    customType: leafMarkerType,
    id: randomUUID(),
    parentId,
    timestamp: new Date().toISOString(),
  };
}

async function appendDurably(path: string, text: string, flags: "wx" | "a"): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, flags, privateFileMode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
