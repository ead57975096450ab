import type { SessionEntry } from "./entries.ts";
import { parseEntryJson } from "./entry-json.ts";
import { SessionError } from "./errors.ts";

/** An entry on its way into a storage. */
export interface EntryRecord {
  /** The exact text to keep. */
  readonly json: string;
  /** What `json` says. */
  readonly entry: SessionEntry;
}

/** The record of an entry object: its JSON text as it is now. Throws `invalid_entry`. */
export function entryToRecord(entry: SessionEntry): EntryRecord {
  let json: string | undefined;
  try {
    json = JSON.stringify(entry);
  } catch (cause) {
    throw new SessionError("invalid_entry", `Entry ${entry.id} cannot be written as JSON`, { cause });
  }
  return jsonToRecord(json ?? "");
}

/** The record of an exact JSON text on one line. Throws `invalid_entry` with a message that begins with `complaint`. */
export function jsonToRecord(json: string, complaint: string = "Not an entry"): EntryRecord {
  // Session files hold one entry a line; a text that cannot stand there could not be kept as it is.
  // Two searches for one character cost next to nothing; a regular expression costs as much as parsing does.
  if (json.includes("\n") || json.includes("\r")) {
    throw new SessionError("invalid_entry", `${complaint}: the text holds a line break`);
  }
  const parsed = parseEntryJson(json);
  if (!parsed.ok) throw new SessionError("invalid_entry", `${complaint}: ${parsed.error.message}`);
  return { json, entry: parsed.value };
}
