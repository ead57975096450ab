/** Entries and headers as JSON texts from outside (files, imports, other devices): the one place that checks them. */
import type { SessionEntry, SessionHeader } from "./entries.ts";
import type { Result } from "./errors.ts";
import type { TreeNode } from "./session-tree.ts";

/** Why a JSON text is not an entry or a header. */
export interface JsonFault {
  /** The field at fault; empty when the text as a whole is. */
  readonly field: string;
  /** What was expected and what was found, e.g. `parentId: expected a string or null, found number`. */
  readonly message: string;
}

interface FieldRule {
  readonly field: string;
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
}

const isString = (value: unknown): value is string => typeof value === "string";
const isText = (value: unknown): boolean => isString(value) && value !== "";
const isStringOrNull = (value: unknown): boolean => value === null || isString(value);
const isOptionalString = (value: unknown): boolean => value === undefined || isStringOrNull(value);
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const BASE_RULES: readonly FieldRule[] = [
  { field: "type", expected: "a string", accepts: isString },
  { field: "id", expected: "a non-empty string", accepts: isText },
  { field: "parentId", expected: "a string or null", accepts: isStringOrNull },
  { field: "timestamp", expected: "a non-empty string", accepts: isText },
];

/** Only what the tree itself reads. Payloads stay as they are: pi writes and reads them without a check. */
const RULES_BY_TYPE: ReadonlyMap<string, readonly FieldRule[]> = new Map([
  ["leaf", [{ field: "targetId", expected: "a string or null", accepts: isStringOrNull }]],
  [
    "label",
    [
      { field: "targetId", expected: "a string", accepts: isString },
      { field: "label", expected: "a string or nothing", accepts: isOptionalString },
    ],
  ],
  ["session_info", [{ field: "name", expected: "a string or nothing", accepts: isOptionalString }]],
  ["context_edit", [{ field: "targetId", expected: "a string", accepts: isString }]],
]);

const HEADER_RULES: readonly FieldRule[] = [
  { field: "type", expected: '"session"', accepts: (value) => value === "session" },
  {
    field: "version",
    expected: "a whole number of at least 1",
    accepts: (value) => value === undefined || (Number.isInteger(value) && Number(value) >= 1),
  },
  { field: "id", expected: "a non-empty string", accepts: isText },
  { field: "timestamp", expected: "a non-empty string", accepts: isText },
  { field: "cwd", expected: "a string", accepts: (value) => value === undefined || isString(value) },
  {
    field: "parentSession",
    expected: "a string",
    accepts: (value) => value === undefined || isString(value),
  },
  { field: "metadata", expected: "an object", accepts: (value) => value === undefined || isObject(value) },
];

/**
 * Reads one entry. Checked are the fields the tree stands on (type, id, parentId, timestamp, and per type the target,
 * label and name); unknown types and all other fields pass as they are.
 */
export function parseEntryJson(json: string): Result<SessionEntry, JsonFault> {
  const parsed = parseObject(json);
  if (!parsed.ok) return parsed;
  const fields = parsed.value;
  const fault = findFault(fields, BASE_RULES) ?? findFault(fields, RULES_BY_TYPE.get(String(fields.type)) ?? []);
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
  const fault = findFault(parsed.value, HEADER_RULES);
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

function findFault(fields: Record<string, unknown>, rules: readonly FieldRule[]): JsonFault | undefined {
  const broken = rules.find((rule) => !rule.accepts(fields[rule.field]));
  if (broken === undefined) return undefined;
  const { field, expected } = broken;
  return { field, message: `${field}: expected ${expected}, found ${kindOf(fields[field])}` };
}

function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (value === "") return "an empty string";
  return Array.isArray(value) ? "an array" : `${/^[aeiou]/.test(typeof value) ? "an" : "a"} ${typeof value}`;
}
