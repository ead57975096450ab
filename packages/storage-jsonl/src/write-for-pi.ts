/** Makes the file with which pi opens a session, and brings it up to date later on. It only ever grows. */
import { type SessionEntry, SessionError, type SessionStorage } from "@coppice/core";
import { placeSessionFile } from "./create-session-file.ts";
import { appendToPiFile, type PiFile, readPiFile } from "./pi-file.ts";
import { canStandLast, createLeafMarker, leaveOutLeafEntries, readExportHeader } from "./pi-lines.ts";

/** Which file, and where pi is to stand. */
export interface WriteForPiOptions {
  readonly path: string;
  /** The folder pi works in on this device; it goes into the header of a new file. Not empty. */
  readonly cwd: string;
  /** The entry pi is to stand on; null: before the first. Default: the storage's leaf. */
  readonly leafId?: string | null;
}

/** An entry that was not written, although the file does not have it. */
export interface LeftOutEntry {
  readonly id: string;
  /** What is the matter with an entry above it, or with itself: pi would show half a branch, or never come to an end. */
  readonly reason: "parent missing" | "parents in a circle";
}

/** What became of the file. */
export interface PiFileUpdate {
  readonly path: string;
  readonly isNew: boolean;
  /** Ids of the entries added, in the order in which they stand in the file; the marker's is the last. */
  readonly added: readonly string[];
  /** The entry asked for. */
  readonly leafId: string | null;
  /** The entry of the last line, on which pi stands: the leaf, or the marker below it. Null: the file has no entry. */
  readonly standsOnId: string | null;
  /**
   * The marker, when pi stands on one: what pi adds hangs below it, so it has to be appended to the storage too
   * (`appendJson`; there already, it is left out). The exact text of its line.
   */
  readonly marker?: { readonly id: string; readonly json: string };
  readonly leftOut: readonly LeftOutEntry[];
}

/** Attempts before it is given up: somebody else writes all the time. */
const mostAttempts = 100;

/**
 * Writes a session so that pi opens it at the leaf. A missing file is made whole; to one that is there, what it lacks is
 * appended, parents first, in one write. Its earlier bytes stay as they are, also those of other programs, and a write
 * that was cut short is completed by the next call. Bring what only the file has into the storage first (import it), or
 * pi may be moved away from it. Settles when it is on the disk.
 *
 * Rejects `not_found` (unknown leaf), `invalid_session` (the leaf's branch is not whole here, no session file, that of
 * another session), `version_mismatch` (another format than 3), `storage`, `storage_full`. Rules JL60-JL67.
 */
export async function writeForPi(storage: SessionStorage, options: WriteForPiOptions): Promise<PiFileUpdate> {
  const { path, cwd, leafId = await storage.getLeafId() } = options;
  const { id: sessionId } = await storage.getMetadata();
  for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
    const file = await readPiFile(path, sessionId);
    const { lines, ...update } = await planLines(storage, sessionId, leafId, file);
    if (file === undefined) {
      const header = await readExportHeader(storage, () => cwd);
      // False: another process made it at the same moment.
      if (await placeSessionFile(path, header, lines)) return { ...update, path, isNew: true };
      continue;
    }
    const text = lines.map((line) => `${line}\n`).join("");
    if (lines.length === 0 || (await appendToPiFile(path, text, file.size))) return { ...update, path, isNew: false };
  }
  throw new SessionError("storage", `${path} is written to all the time by another program; end that and try again.`);
}

interface LinePlan extends Omit<PiFileUpdate, "path" | "isNew"> {
  readonly lines: readonly string[];
}

async function planLines(
  storage: SessionStorage,
  sessionId: string,
  leafId: string | null,
  file: PiFile | undefined,
): Promise<LinePlan> {
  const leaf = leafId === null ? null : await storage.getEntry(leafId);
  if (leaf === undefined) throw new SessionError("not_found", `Entry ${leafId} not found`);
  const knownIds = file?.ids ?? new Set<string>();
  const { missing, leftOut } = findMissing(leaveOutLeafEntries(await storage.getEntries(), leaf), knownIds);
  if (leafId !== null && leftOut.some(({ id }) => id === leafId))
    throw new SessionError(
      "invalid_session",
      `The branch that ends at ${leafId} is not whole here; choose another entry.`,
    );

  const continuedIds = new Set(missing.map((entry) => entry.parentId));
  const ordered = missing.filter((entry) => entry.id !== leafId);
  if (ordered.length < missing.length && leaf !== null) {
    if (canStandLast(leaf, continuedIds)) ordered.push(leaf);
    else
      ordered.splice(
        missing.findIndex(({ id }) => id === leafId),
        0,
        leaf,
      );
  }

  const lines: string[] = [];
  const added: string[] = [];
  for (const { id } of ordered) {
    const json = await storage.getEntryJson(id);
    if (json === undefined) throw new SessionError("storage", `Entry ${id} cannot be read.`);
    // Raw line breaks can only stand between two fields, where a space says the same.
    lines.push(json.replace(/[\r\n]+/g, " "));
    added.push(id);
  }
  const last = ordered.at(-1) ?? file?.last;
  const shared = { added, leafId, leftOut, lines };
  if (last === undefined) return { ...shared, standsOnId: null };
  if (last.id !== undefined && last.id === leafId) return { ...shared, standsOnId: leafId };
  if (ordered.length === 0 && file?.last?.isMarker && file.last.id !== undefined && file.last.parentId === leafId) {
    const { id, json } = file.last;
    return { ...shared, standsOnId: id, marker: { id, json } };
  }
  const marker = createLeafMarker(sessionId, { id: last.id ?? "", timestamp: last.timestamp || epoch }, leafId);
  const json = JSON.stringify(marker);
  lines.push(json);
  added.push(marker.id);
  return { ...shared, standsOnId: marker.id, marker: { id: marker.id, json } };
}

/** For a last line that has no time. */
const epoch = "1970-01-01T00:00:00.000Z";

/** Entries the file lacks, parents first, and those that cannot be given to pi. */
function findMissing(
  entries: readonly SessionEntry[],
  knownIds: ReadonlySet<string>,
): { missing: SessionEntry[]; leftOut: LeftOutEntry[] } {
  const entryById = new Map(entries.map((entry) => [entry.id, entry]));
  const faultById = new Map<string, LeftOutEntry["reason"] | undefined>();
  const missing: SessionEntry[] = [];
  const leftOut: LeftOutEntry[] = [];
  for (const entry of entries) {
    const path: SessionEntry[] = [];
    const seen = new Set<string>();
    let fault: LeftOutEntry["reason"] | undefined;
    for (let id: string | null = entry.id; id; ) {
      if (faultById.has(id)) {
        fault = faultById.get(id);
        break;
      }
      const above: SessionEntry | undefined = entryById.get(id);
      if (above === undefined || seen.has(id)) {
        // What pi itself wrote, and the storage does not have yet, is no business of ours.
        if (above !== undefined) fault = "parents in a circle";
        else if (!knownIds.has(id)) fault = "parent missing";
        break;
      }
      seen.add(id);
      path.push(above);
      id = above.parentId;
    }
    for (const above of path.reverse()) {
      faultById.set(above.id, fault);
      if (knownIds.has(above.id)) continue;
      if (fault === undefined) missing.push(above);
      else leftOut.push({ id: above.id, reason: fault });
    }
  }
  return { missing, leftOut };
}
