import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SessionEntry } from "@coppice/core";
import { assistantEntry, userEntry } from "./make-entries.ts";
import { makeTempFolder } from "./run-coppice.ts";

/** The session of the demo: long, linear, with a name. */
export const sampleFile: string = fileURLToPath(
  new URL("../../../../examples/two-devices/flaky-login-test.jsonl", import.meta.url),
);

/** Id of the session that `writeSessionFile` writes. */
export const shortSessionId = "0194c0de-0000-7000-8000-00000000abcd";

/** Three entries: a question, an answer, a name. The last one is the leaf. */
export const shortSession: readonly SessionEntry[] = [
  userEntry("e0000001", null, "What is a coppice?"),
  assistantEntry("e0000002", "e0000001", "A wood that grows again from its stumps."),
  { type: "session_info", id: "e0000003", parentId: "e0000002", timestamp: "2026-12-01T10:00:01.000Z", name: "Woods" },
];

/** The lines of a session file. */
function toFileLines(sessionId: string, entries: readonly SessionEntry[]): string[] {
  const header = {
    type: "session",
    version: 3,
    id: sessionId,
    timestamp: "2026-12-01T09:59:59.000Z",
    cwd: "/home/user/woods",
  };
  return [header, ...entries].map((line) => JSON.stringify(line));
}

/** Writes a session file into a new folder, or into the given one, and settles with its path. */
export async function writeSessionFile(
  options: {
    folder?: string;
    name?: string;
    sessionId?: string;
    entries?: readonly SessionEntry[];
    more?: string;
  } = {},
): Promise<string> {
  const path = join(options.folder ?? (await makeTempFolder()), options.name ?? "woods.jsonl");
  const lines = toFileLines(options.sessionId ?? shortSessionId, options.entries ?? shortSession);
  await writeFile(path, `${lines.join("\n")}\n${options.more ?? ""}`);
  return path;
}
