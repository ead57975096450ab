/** A session file as pi-coding-agent 1.x reads it: leniently, by JSON and ids alone. What pi has, must not be given again. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { SessionError } from "@coppice/core";
import { readFileBytes } from "./file-bytes.ts";
import { toFileError } from "./file-errors.ts";
import { NEWLINE, readFileLines } from "./file-lines.ts";
import { CURRENT_FILE_VERSION } from "./line-migration.ts";
import { LEAF_MARKER_TYPE } from "./pi-lines.ts";

/** The last entry of a file, on which pi stands. */
interface LastPiEntry {
  /** Undefined: the line has none, and pi stands nowhere. */
  readonly id: string | undefined;
  readonly parentId: string | null;
  readonly timestamp: string;
  readonly isMarker: boolean;
  /** The line. */
  readonly json: string;
}

/** What pi makes of a file. */
export interface PiFile {
  /** Ids of its entries. */
  readonly ids: Set<string>;
  /** Undefined: there is no entry. */
  readonly last: LastPiEntry | undefined;
  /** Bytes that were read. */
  readonly size: number;
}

/**
 * Reads a file as pi does; undefined when it is missing. Rejects `invalid_session` when it is no session file or that of
 * another session, `version_mismatch` when pi would rewrite it or its format is newer, `storage`.
 */
export async function readPiFile(path: string, sessionId: string): Promise<PiFile | undefined> {
  const ids = new Set<string>();
  let last: LastPiEntry | undefined;
  let hasHeader = false;
  let size = 0;
  try {
    for await (const line of readFileLines(readFileBytes(path), Number.POSITIVE_INFINITY)) {
      size = line.endOffset;
      const json = Buffer.from(line.bytes).toString("utf8");
      const value = line.hadByteOrderMark ? undefined : parseLine(json);
      // pi passes over what is no JSON, and over `null`, `0` and the like.
      if (!value) continue;
      const fields = Object(value) as Record<string, unknown>;
      if (!hasHeader) {
        checkHeader(fields, path, sessionId);
        hasHeader = true;
      } else if (fields.type !== "session") {
        last = toLastEntry(fields, json);
        if (last.id !== undefined) ids.add(last.id);
      }
    }
  } catch (error) {
    if (error instanceof SessionError && error.code === "not_found") return undefined;
    throw error;
  }
  if (!hasHeader) throw notASession(path);
  return { ids, last, size };
}

/**
 * Appends text in one go and settles with true when it is on the disk; with false, and nothing written, when the file has another size
 * than expected: somebody else has written. Nothing is ever cut off: what a full disk took stays as a torn line, which
 * pi passes over. Rejects `storage` or `storage_full`.
 */
export async function appendToPiFile(path: string, text: string, expectedSize: number): Promise<boolean> {
  try {
    const file = await open(path, constants.O_RDWR | constants.O_APPEND);
    try {
      const { size } = await file.stat();
      if (size !== expectedSize) return false;
      const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
      await file.appendFile(buffer[0] === NEWLINE ? text : `\n${text}`);
      await file.sync();
      return true;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw toFileError(error, path);
  }
}

function checkHeader({ type, id, version }: Record<string, unknown>, path: string, sessionId: string): void {
  if (type !== "session" || typeof id !== "string") throw notASession(path);
  if (id !== sessionId) {
    const advice = "choose another name";
    throw new SessionError("invalid_session", `${path} is the file of another session (${id}); ${advice}.`);
  }
  if (version === CURRENT_FILE_VERSION) return;
  const format = version === undefined ? 1 : version;
  const advice = "move it away, and it is made anew";
  throw new SessionError(
    "version_mismatch",
    `${path} is written in session format ${format}, which cannot be gone on with here; ${advice}.`,
  );
}

function notASession(path: string): SessionError {
  return new SessionError("invalid_session", `${path} is no session file that pi opens; move it away.`);
}

function toLastEntry(fields: Record<string, unknown>, json: string): LastPiEntry {
  const { id, parentId, timestamp, type, customType } = fields;
  return {
    id: typeof id === "string" && id !== "" ? id : undefined,
    parentId: typeof parentId === "string" && parentId !== "" ? parentId : null,
    timestamp: typeof timestamp === "string" ? timestamp : "",
    isMarker: type === "custom" && customType === LEAF_MARKER_TYPE,
    json,
  };
}

function parseLine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // So does pi.
    return undefined;
  }
}
