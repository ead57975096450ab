import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A session file of format 3 as plain lines, read without any of the product's code. */
export interface PlainSessionFile {
  readonly name: string;
  readonly path: string;
  readonly headerLine: string;
  readonly entryLines: string[];
  readonly sessionId: string;
}

/** Every well-formed format 3 file of a folder, by name. */
export function readPlainSessionFiles(folder: string): PlainSessionFile[] {
  const files: PlainSessionFile[] = [];
  for (const name of readdirSync(folder).sort()) {
    if (!name.endsWith(".jsonl")) continue;
    const path = join(folder, name);
    const [headerLine, ...entryLines] = readFileSync(path, "utf8")
      .split(/\r?\n/)
      .filter((line) => line.trim() !== "");
    const header = parseObject(headerLine);
    if (headerLine === undefined || header?.version !== 3) continue;
    // Damaged fixtures are for the reader's own tests; here a file's lines are the truth to compare with.
    const ids = entryLines.map((line) => parseObject(line)?.id);
    if (ids.some((id) => typeof id !== "string") || new Set(ids).size !== ids.length) continue;
    files.push({ name, path, headerLine, entryLines, sessionId: String(header.id) });
  }
  return files;
}

function parseObject(line: string | undefined): { [field: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(line ?? "");
    return typeof value === "object" && value !== null ? (value as { [field: string]: unknown }) : undefined;
  } catch {
    return undefined;
  }
}
