import type { SessionEntry } from "./entries.ts";
import {
  accept,
  anObject,
  arrayOf,
  aString,
  type FieldChecks,
  findFieldFault,
  type JsonFault,
  objectWith,
  orNothing,
} from "./json-shape.ts";

const aNumber = accept("a number", (value) => typeof value === "number");
const aBoolean = accept("true or false", (value) => typeof value === "boolean");
const aContent = accept("a string or an array", (value) => typeof value === "string" || Array.isArray(value));
/** Only the role: what else a message holds is between the model's provider and the application. */
const aMessage = objectWith([["role", aString]]);
const anEdit = objectWith([["content", aContent]]);

/** What pi's own types ask for, except that fields which only report (details, usage of a message) may be anything. */
const CHECKS_BY_TYPE: ReadonlyMap<string, FieldChecks> = new Map<string, FieldChecks>([
  ["message", [["message", aMessage]]],
  ["thinking_level_change", [["thinkingLevel", aString]]],
  [
    "model_change",
    [
      ["provider", aString],
      ["modelId", aString],
    ],
  ],
  ["active_tools_change", [["activeToolNames", arrayOf(aString)]]],
  [
    "compaction",
    [
      ["summary", aString],
      ["tokensBefore", aNumber],
      ["firstKeptEntryId", orNothing(aString)],
      ["retainedTail", orNothing(arrayOf(aMessage))],
      ["systemMessage", orNothing(aMessage)],
    ],
  ],
  [
    "branch_summary",
    [
      ["summary", aString],
      ["fromId", aString],
    ],
  ],
  ["custom", [["customType", aString]]],
  [
    "custom_message",
    [
      ["customType", aString],
      ["content", aContent],
      ["display", aBoolean],
    ],
  ],
  [
    "usage",
    [
      ["kind", aString],
      ["provider", aString],
      ["model", aString],
      ["usage", anObject],
    ],
  ],
  ["context_edit", [["replacement", (value, field) => (value === null ? undefined : anEdit(value, field))]]],
]);

/**
 * What is wrong with an entry's payload: the first field that is not what the entry's type asks for; undefined for a
 * sound payload and for types nobody knows. An entry with a fault stays in its place on its branch, because others
 * continue it; whether it is refused before it gets there is the reader's decision. The fields the tree stands on are
 * those of `parseEntryJson`.
 */
export function findPayloadFault(entry: SessionEntry): JsonFault | undefined {
  const checks = CHECKS_BY_TYPE.get(entry.type);
  return checks === undefined ? undefined : findFieldFault({ ...entry }, checks);
}
