/**
 * Brings lines of session format 1 (no ids, a plain list) and 2 (role `hookMessage`) to format 3 as pi does, but with
 * ids that depend on nothing except the file: two devices that migrate one file get one tree, byte for byte.
 */
import { deriveId } from "./derived-id.ts";

/** Version of the session file format that is read as it stands. */
export const CURRENT_FILE_VERSION = 3;

/** First part of the hash that gives an entry of format 1 its id (rule JL12); another would give files new trees. */
const ENTRY_ID_PURPOSE = "coppice/entry-id/1";

/** Migrates the lines of one file of version 1 or 2, in order. */
export class LineMigration {
  readonly #sessionId: string;
  readonly #givesIds: boolean;
  /** Ids by position as pi counts: lines that parse as JSON, the header being 0. Undefined: no entry. */
  readonly #idsByPosition: (string | undefined)[] = [undefined];
  #previousId: string | null = null;

  constructor(version: number, sessionId: string) {
    this.#givesIds = version < 2;
    this.#sessionId = sessionId;
  }

  /**
   * The text of a line in format 3. To be called for every line, because format 1 counts those that parse as JSON; what
   * is no entry comes back as it is.
   */
  migrateLine(json: string): string {
    const value = parseJson(json);
    if (value === undefined) return json;
    const position = this.#idsByPosition.push(undefined) - 1;
    if (!isObject(value) || value.type === "session") return json;

    const added: Record<string, unknown> = {};
    if (this.#givesIds) {
      added.id = deriveId(ENTRY_ID_PURPOSE, this.#sessionId, position, json);
      added.parentId = this.#previousId;
    }
    const replaced: Record<string, unknown> = {};
    if (this.#givesIds && value.type === "compaction" && typeof value.firstKeptEntryIndex === "number") {
      replaced.firstKeptEntryIndex = undefined;
      const keptPosition = value.firstKeptEntryIndex;
      const keptId = keptPosition === position ? added.id : this.#idsByPosition[keptPosition];
      if (keptId !== undefined) replaced.firstKeptEntryId = keptId;
    }
    if (value.type === "message" && isObject(value.message) && value.message.role === "hookMessage") {
      replaced.message = { ...value.message, role: "custom" };
    }

    const addedKeys = Object.keys(added);
    if (Object.keys(replaced).length > 0 || addedKeys.some((key) => key in value)) {
      return JSON.stringify({ ...value, ...replaced, ...added });
    }
    if (addedKeys.length === 0) return json;
    // What need not change keeps its bytes: number forms and escapes do not survive parsing.
    const inside = json.slice(json.indexOf("{") + 1, json.lastIndexOf("}"));
    const addition = JSON.stringify(added).slice(1);
    return inside.trim() === "" ? `{${addition}` : `{${inside},${addition}`;
  }

  /** Says that the line migrated last was kept as the entry `id`: the next one continues it. */
  keepLine(id: string): void {
    this.#idsByPosition[this.#idsByPosition.length - 1] = id;
    this.#previousId = id;
  }
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // The reader reports the line; here it only does not count.
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
