import { type SessionEntry, SessionError, type SessionStorage } from "@coppice/core";

/** A JSON text that is printed as it is, where a shape has a value: an entry byte for byte, however deep it is nested. */
export class ExactJson {
  /** JSON of one value, on one line. */
  readonly text: string;

  /** `text` must be JSON. Line ends can only stand between its values, and go. */
  constructor(text: string) {
    this.text = /[\r\n]/.test(text) ? text.replace(/[\r\n]+/g, " ") : text;
  }
}

/** Entries as a shape has them: their exact texts. One whose content cannot be read is what is known of it. */
export async function readExactEntries(
  storage: SessionStorage,
  entries: readonly SessionEntry[],
): Promise<(ExactJson | SessionEntry)[]> {
  const exact: (ExactJson | SessionEntry)[] = [];
  for (const entry of entries) {
    const json = await storage.getEntryJson(entry.id);
    exact.push(json === undefined ? entry : new ExactJson(json));
  }
  return exact;
}

/**
 * The JSON text of a shape, with `ExactJson` anywhere in it. Throws `invalid_entry` when something in it is nested too
 * deep, which JavaScript parses and cannot write, or the whole is longer than a string can be.
 */
export function stringifyShape(value: unknown): string {
  try {
    return stringify(value) ?? "null";
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const why = error.message.includes("string length")
      ? "This is longer than one line of JSON may be"
      : "An entry is nested too deep to be shown in this shape";
    throw new SessionError("invalid_entry", `${why}; \`coppice log --raw\` prints the exact texts, one per line.`, {
      cause: error,
    });
  }
}

/** As `JSON.stringify`, for the plain objects and arrays that shapes are made of. */
function stringify(value: unknown): string | undefined {
  if (value instanceof ExactJson) return value.text;
  if (Array.isArray(value)) return `[${value.map((item) => stringify(item) ?? "null").join(",")}]`;
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return JSON.stringify(value);
  const fields: string[] = [];
  for (const [name, field] of Object.entries(value)) {
    const text = stringify(field);
    if (text !== undefined) fields.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${fields.join(",")}}`;
}
