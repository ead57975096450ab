import { LineMatcher, parseEntryJson, type RefusedLine } from "@coppice/core";
import type { OpenedSession } from "./shared-session.ts";
import type { ImportOptions, ImportResult, ImportSource } from "./workspace-types.ts";

/**
 * Takes a session file's content into its open session; the header is that of the session. Settles when it is durable
 * here. What was taken in before a rejection is kept.
 */
export async function importInto(
  session: OpenedSession,
  source: ImportSource,
  options: ImportOptions,
): Promise<ImportResult> {
  const isNewHere = !session.hasBeenFetched;
  // New, or known from another device's list only: the file brings the whole tree, so there is nothing to wait for.
  if (isNewHere) await session.create(source.headerJson);
  const leafBefore = session.storage.getReplicaLeaf();
  const refused: RefusedLine[] = [];
  const matcher = new LineMatcher(session.storage);
  let lastLine: string | undefined;
  const readLines = async function* (): AsyncGenerator<string> {
    for await (const line of source.lines) {
      // The text that is here already counts as known, so that every line is counted.
      lastLine = await matcher.match(line);
      yield lastLine;
    }
  };
  const { written, known, isComplete } = await session.storage.appendBatch(readLines(), {
    ...options,
    // One line that is no entry must not keep the others out.
    onRefused: (line) => refused.push(line),
  });
  if (!isNewHere) {
    if (written > 0) await keepOwnBranch(session, leafBefore);
  } else if (isComplete && lastLine !== undefined) await standAtEnd(session, lastLine);
  return { session, written, known, refused, isComplete };
}

/**
 * A session that an import brought to this device is gone on with where the file ends. Another device that imports the
 * file at the same moment may have written any part of it first, so this device's own last record does not tell. A last
 * line that is no entry of the session says nothing. No move is written: the log stays that of the file.
 */
async function standAtEnd(session: OpenedSession, lastLine: string): Promise<void> {
  const parsed = parseEntryJson(lastLine);
  if (!parsed.ok) return;
  const entry = parsed.value;
  const end = entry.type === "leaf" ? entry.targetId : entry.id;
  const { storage } = session;
  if (end === (await storage.getLeafId())) return;
  if (end === null || (await storage.getEntry(end)) !== undefined) await session.standAt(end);
}

/**
 * An import brings entries in; it is no reason to leave one's place. Where the file goes on from there the leaf follows,
 * otherwise it is moved back (SPEC WS12).
 */
async function keepOwnBranch({ storage, session }: OpenedSession, leafBefore: string | null): Promise<void> {
  if (leafBefore === null) return;
  const path = await storage.getPathToRoot(await storage.getLeafId());
  if (!path.some(({ id }) => id === leafBefore)) await session.moveTo(leafBefore);
}
