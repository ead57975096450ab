/** Entries and headers as JSON texts from outside (files, imports, other devices): the one place that checks them. */
import type { SessionEntry, SessionHeader } from "./entries.ts";
import type { Result } from "./errors.ts";
import {
  accept,
  anObject,
  aString,
  aStringOrNull,
  aText,
  type FieldChecks,
  findFieldFault,
  isObject,
  type JsonFault,
  kindOf,
  orAbsent,
} from "./json-shape.ts";
import type { TreeNode } from "./session-tree.ts";

const anOptionalString = accept("a string or nothing", (value) => value == null || typeof value === "string");

const BASE_CHECKS: FieldChecks = [
  ["type", aString],
  ["id", aText],
  ["parentId", aStringOrNull],
  ["timestamp", aText],
];

/** Only what the tree itself reads; payloads are `findPayloadFault`'s. */
const CHECKS_BY_TYPE: ReadonlyMap<string, FieldChecks> = new Map<string, FieldChecks>([
  ["leaf", [["targetId", aStringOrNull]]],
  [
    "label",
    [
      ["targetId", aString],
      ["label", anOptionalString],
    ],
  ],
  ["session_info", [["name", anOptionalString]]],
  ["context_edit", [["targetId", aString]]],
]);

const HEADER_CHECKS: FieldChecks = [
  ["type", accept('"session"', (value) => value === "session")],
  [
    "version",
    orAbsent(accept("a whole number of at least 1", (value) => Number.isInteger(value) && Number(value) >= 1)),
  ],
  ["id", aText],
  ["timestamp", aText],
  ["cwd", orAbsent(aString)],
  ["parentSession", orAbsent(aString)],
  ["metadata", orAbsent(anObject)],
];

/**
 * Reads one entry. Checked are the fields the tree stands on (type, id, parentId, timestamp, and per type the target,
 * label and name); unknown types and all other fields pass as they are. `findPayloadFault` looks at the rest.
 */
export function parseEntryJson(json: string): Result<SessionEntry, JsonFault> {
  const parsed = parseObject(json);
  if (!parsed.ok) return parsed;
  const fields = parsed.value;
  const fault =
    findFieldFault(fields, BASE_CHECKS) ?? findFieldFault(fields, CHECKS_BY_TYPE.get(String(fields.type)) ?? []);
  if (fault !== undefined) return { ok: false, error: fault };
  return { ok: true, value: fields as unknown as SessionEntry };
}

/**
 * Reads a session header of any version. A missing version means 1 and a missing cwd an empty one, as in pi's first
 * files; fields it does not know are left out.
 */
export function parseHeaderJson(json: string): Result<SessionHeader, JsonFault> {
  const parsed = parseObject(json);
  if (!parsed.ok) return parsed;
  const fault = findFieldFault(parsed.value, HEADER_CHECKS);
  if (fault !== undefined) return { ok: false, error: fault };
  const fields = parsed.value as unknown as SessionHeader;
  const header: SessionHeader = {
    type: "session",
    version: fields.version ?? 1,
    id: fields.id,
    timestamp: fields.timestamp,
    cwd: fields.cwd ?? "",
  };
  if (fields.parentSession !== undefined) header.parentSession = fields.parentSession;
  if (fields.metadata !== undefined) header.metadata = fields.metadata;
  return { ok: true, value: header };
}

/** The fields of an entry that the tree reads. */
export function entryToTreeNode(entry: SessionEntry): TreeNode {
  const { id, parentId, type, timestamp } = entry;
  const base = { id, parentId, type, timestamp };
  switch (entry.type) {
    case "message":
      return typeof entry.message?.role === "string" ? { ...base, role: entry.message.role } : base;
    case "leaf":
    case "context_edit":
      return { ...base, targetId: entry.targetId };
    case "label":
      return { ...base, targetId: entry.targetId, label: entry.label ?? undefined };
    case "session_info":
      return { ...base, name: entry.name ?? undefined };
    default:
      return base;
  }
}

function parseObject(json: string): Result<Record<string, unknown>, JsonFault> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    return { ok: false, error: { field: "", message: `not JSON: ${(error as SyntaxError).message}` } };
  }
  if (!isObject(value))
    return { ok: false, error: { field: "", message: `expected an object, found ${kindOf(value)}` } };
  return { ok: true, value };
}
