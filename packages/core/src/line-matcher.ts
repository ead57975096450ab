/**
 * One session may come in two copies whose entries have other ids: pi gives the entries of a file of format 1 random ids
 * when it opens it, Coppice gives them ids that follow from the file (rule JL12). Format 1 is a plain list and both keep
 * order and content, so the copies can be laid side by side from the root down.
 */
import type { SessionEntry } from "./entries.ts";
import type { SessionStorage } from "./session-storage.ts";

/** Where lines are matched against: a storage has it. */
export type MatchableEntries = Pick<SessionStorage, "getEntry" | "getEntryJson" | "getChildren">;

/** Fields that hold the id of another entry. */
const referenceFields = ["parentId", "targetId", "firstKeptEntryId", "fromId"] as const;
/** Fields in which two copies of one entry differ. */
const ownFields: ReadonlySet<string> = new Set(["id", "parentId", "firstKeptEntryId", "firstKeptEntryIndex"]);
/** Ids that were derived from a file: UUIDv8. */
const derivedId = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** May stand in a payload too: it only says which lines are worth parsing. */
const rootMark = /"parentId"\s*:\s*(?:null|"")/;

/**
 * Reads the lines of one copy of a session and gives them as the other copy, which is stored, has them: entries that it
 * has under another id in its text, what follows them with its ids. Two entries are one when their parents are, they
 * differ in their ids alone, and exactly one of the ids was derived from a file of format 1. Rules WS79-WS82.
 *
 * Lines are taken in file order, parents first. Of a session whose roots have no twin, each line costs one search for a
 * root and comes back as it is.
 */
export class LineMatcher {
  readonly #stored: MatchableEntries;
  readonly #storedIds = new Map<string, string>();
  readonly #lineIds = new Map<string, string>();
  /** Ids of lines that have no twin, since the first that has. */
  readonly #otherIds = new Set<string>();
  #lastTwinId: string | undefined;

  constructor(stored: MatchableEntries) {
    this.#stored = stored;
  }

  /** Entries that were found under another id. */
  get count(): number {
    return this.#storedIds.size;
  }

  /** The id that the stored copy has for an entry of the lines; the same id when they do not differ. */
  storedId(lineId: string): string {
    return this.#storedIds.get(lineId) ?? lineId;
  }

  /** The id that the lines have for an entry of the stored copy; the same id when they do not differ. */
  lineId(storedId: string): string {
    return this.#lineIds.get(storedId) ?? storedId;
  }

  /**
   * The next line as the stored copy has it, or is to have it: the same text unless ids in it differ. What is no entry
   * comes back as it is. Rejects as reading the stored copy does.
   */
  async match(json: string): Promise<string> {
    if (this.count === 0 && !rootMark.test(json)) return json;
    const entry = parseEntry(json);
    if (entry === undefined) return json;
    const known = this.#storedIds.get(entry.id);
    const twinId = known ?? (await this.#findTwin(entry));
    const twinJson = twinId === undefined ? undefined : await this.#stored.getEntryJson(twinId);
    if (twinId === undefined || twinJson === undefined) {
      if (this.count > 0) this.#otherIds.add(entry.id);
      return this.#translate(json, entry);
    }
    this.#storedIds.set(entry.id, twinId);
    this.#lineIds.set(twinId, entry.id);
    this.#lastTwinId = twinId;
    return twinJson;
  }

  async #findTwin(entry: LineEntry): Promise<string | undefined> {
    const parentId = await this.#findStoredParent(entry);
    if (parentId === undefined) return undefined;
    const candidates = (await this.#stored.getChildren(parentId)).filter(
      ({ id }) => isDerived(id) !== isDerived(entry.id),
    );
    if (candidates.length === 0) return undefined;
    if ((await this.#stored.getEntry(entry.id)) !== undefined) return undefined;
    const content = contentOf(entry);
    return candidates.find((candidate) => !this.#lineIds.has(candidate.id) && contentOf(candidate) === content)?.id;
  }

  /** Undefined: below this entry's parent nothing can have a twin. */
  async #findStoredParent({ parentId }: LineEntry): Promise<string | null | undefined> {
    if (parentId === null || parentId === "") return null;
    const twinId = this.#storedIds.get(parentId);
    if (twinId !== undefined || this.count === 0) return twinId;
    // A line that is no entry is nobody's parent to Coppice; pi, whose list it stands in, has the next one continue it.
    const isNowhere = !this.#otherIds.has(parentId) && (await this.#stored.getEntry(parentId)) === undefined;
    return isNowhere ? this.#lastTwinId : undefined;
  }

  #translate(json: string, entry: LineEntry): string {
    const replaced: Record<string, string> = {};
    for (const field of referenceFields) {
      const id = entry[field];
      const storedId = typeof id === "string" ? this.#storedIds.get(id) : undefined;
      if (storedId !== undefined) replaced[field] = storedId;
    }
    return Object.keys(replaced).length === 0 ? json : JSON.stringify({ ...entry, ...replaced });
  }
}

type LineEntry = { readonly id: string; readonly parentId: string | null } & Readonly<Record<string, unknown>>;

function parseEntry(json: string): LineEntry | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    // Whoever appends it says what is wrong with it.
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { id, parentId } = value as Record<string, unknown>;
  const isEntry = typeof id === "string" && (typeof parentId === "string" || parentId === null);
  return isEntry ? (value as LineEntry) : undefined;
}

function isDerived(id: string): boolean {
  return derivedId.test(id);
}

/** What two copies of one entry have in common. The order of the fields is that of the file they both come from. */
function contentOf(entry: LineEntry | SessionEntry): string {
  return JSON.stringify(Object.entries(entry).filter(([field]) => !ownFields.has(field)));
}
