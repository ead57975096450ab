import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { type ReadSessionFileOptions, readSessionFile, type SessionFileReport } from "../src/index.ts";

export const fixturesFolder: string = fileURLToPath(new URL("../../../test/fixtures", import.meta.url));

export const headerLine =
  '{"type":"session","version":3,"id":"s1","timestamp":"2026-03-02T08:00:00.000Z","cwd":"/work"}';

/** The line of a user message. */
export function messageLine(id: string, parentId: string | null, text = "hello"): string {
  const message = { role: "user", content: text };
  return JSON.stringify({ type: "message", id, parentId, timestamp: "2026-03-02T08:00:01.000Z", message });
}

/** A folder that is gone after the test. */
export async function makeTempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-jsonl-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs something as a user who owns nothing, because the superuser may read and write everything. */
export async function withoutPrivileges(action: () => Promise<void>): Promise<void> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    await action();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

/** Whether `withFileSizeLimit` works here. */
export const canLimitFileSize: boolean = process.platform === "linux";

/** Runs something while no file may grow above so many bytes: writes stop half-way, as on a full disk. */
export async function withFileSizeLimit(maxBytes: number, action: () => Promise<void>): Promise<void> {
  const limit = (value: number | string): void => {
    execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${value}:`]);
  };
  limit(maxBytes);
  try {
    await action();
  } finally {
    limit("unlimited");
  }
}

/** The bytes in chunks of the given size. The memory of a chunk is overwritten after it, as a reused buffer would be. */
export async function* toChunks(content: string | Uint8Array, chunkBytes = 65_536): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(content);
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    const chunk = Uint8Array.from(bytes.subarray(start, start + chunkBytes));
    yield chunk;
    chunk.fill(0x2a);
  }
}

/** Everything a session file gives. */
export interface ReadResult {
  headerJson: string;
  jsons: string[];
  ids: string[];
  lines: number[];
  report: SessionFileReport;
}

/** Reads content to its end. */
export async function readAll(
  source: string | Uint8Array | AsyncIterable<Uint8Array>,
  options: ReadSessionFileOptions = {},
): Promise<ReadResult> {
  const chunks = typeof source === "string" || source instanceof Uint8Array ? toChunks(source) : source;
  const file = await readSessionFile(chunks, options);
  const result: ReadResult = { headerJson: file.headerJson, jsons: [], ids: [], lines: [], report: file.report };
  for await (const { line, json, entry } of file) {
    result.jsons.push(json);
    result.ids.push(entry.id);
    result.lines.push(line);
  }
  return result;
}
