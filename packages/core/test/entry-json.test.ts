import { describe, expect, test } from "vitest";
import { entryToTreeNode, parseEntryJson, parseHeaderJson, type SessionEntry } from "../src/index.ts";

const base = { type: "message", id: "a", parentId: null, timestamp: "2026-01-01T00:00:00.000Z" };

function faultOf(fields: object): string | undefined {
  const result = parseEntryJson(JSON.stringify({ ...base, ...fields }));
  return result.ok ? undefined : result.error.message;
}

describe("entries from JSON", () => {
  test.each([
    [{ type: 3 }, "type: expected a string, found a number"],
    [{ id: "" }, "id: expected a non-empty string, found an empty string"],
    [{ id: undefined }, "id: expected a non-empty string, found nothing"],
    [{ parentId: undefined }, "parentId: expected a string or null, found nothing"],
    [{ parentId: ["a"] }, "parentId: expected a string or null, found an array"],
    [{ timestamp: null }, "timestamp: expected a non-empty string, found null"],
    [{ type: "leaf" }, "targetId: expected a string or null, found nothing"],
    [{ type: "leaf", targetId: {} }, "targetId: expected a string or null, found an object"],
    [{ type: "label", targetId: null }, "targetId: expected a string, found null"],
    [{ type: "label", targetId: "a", label: 1 }, "label: expected a string or nothing, found a number"],
    [{ type: "session_info", name: false }, "name: expected a string or nothing, found a boolean"],
    [{ type: "context_edit", replacement: null }, "targetId: expected a string, found nothing"],
  ])("[EN3] %j is refused: %s", (fields, message) => {
    expect(faultOf(fields)).toBe(message);
  });

  test("[EN3] a text that is no object is refused, saying what it is", () => {
    const messages = ["[]", "42", '"text"', "null"].map((json) => {
      const result = parseEntryJson(json);
      return result.ok ? "accepted" : result.error.message;
    });
    expect(messages).toEqual([
      "expected an object, found an array",
      "expected an object, found a number",
      "expected an object, found a string",
      "expected an object, found null",
    ]);
    const torn = parseEntryJson('{"type":"mess');
    expect(torn).toMatchObject({ ok: false, error: { field: "", message: expect.stringContaining("not JSON") } });
  });

  test("[EN4] an entry of any type keeps all its fields, also those nobody knows", () => {
    const entry = { ...base, type: "from_the_future", parentId: "", extra: { deep: [null] } };
    expect(parseEntryJson(JSON.stringify(entry))).toEqual({ ok: true, value: entry });
    expect(faultOf({ type: "label", targetId: "a", label: null })).toBeUndefined();
    expect(faultOf({ type: "leaf", targetId: null })).toBeUndefined();
    expect(faultOf({ message: undefined })).toBeUndefined();
  });

  test("[EN5] a tree node holds the fields the tree reads and nothing else", () => {
    const nodeOf = (fields: object): object => entryToTreeNode({ ...base, ...fields } as SessionEntry);
    expect(nodeOf({ message: { role: "user", content: "x" } })).toEqual({ ...base, role: "user" });
    expect(nodeOf({ message: null })).toEqual(base);
    const [leaf, edit] = ["leaf", "context_edit"].map((type) => ({ type, targetId: "t" }));
    expect(nodeOf({ ...leaf, more: 1 })).toEqual({ ...base, ...leaf });
    expect(nodeOf({ ...edit, replacement: null })).toEqual({ ...base, ...edit });
    const label = { type: "label", targetId: "t", label: " x " };
    expect(nodeOf(label)).toEqual({ ...base, ...label });
    expect(nodeOf({ type: "session_info", name: "n" })).toEqual({ ...base, type: "session_info", name: "n" });
    expect(nodeOf({ type: "from_the_future", label: "x", name: "n" })).toEqual({ ...base, type: "from_the_future" });
  });
});

describe("headers from JSON", () => {
  const header = { type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/work" };

  test("[EN6] a header keeps what it says; version and cwd that a first-generation file lacks are 1 and empty", () => {
    const full = { ...header, parentSession: "/other.jsonl", metadata: { a: 1 } };
    expect(parseHeaderJson(JSON.stringify({ ...full, provider: "old" }))).toEqual({ ok: true, value: full });
    const { type, id, timestamp } = header;
    const first = { type, id, timestamp };
    expect(parseHeaderJson(JSON.stringify(first))).toEqual({ ok: true, value: { ...first, version: 1, cwd: "" } });
    expect(parseHeaderJson(JSON.stringify({ ...header, version: 99 }))).toMatchObject({ ok: true });
  });

  test.each([
    [{ type: "message" }, 'type: expected "session", found a string'],
    [{ version: 2.5 }, "version: expected a whole number of at least 1, found a number"],
    [{ id: "" }, "id: expected a non-empty string, found an empty string"],
    [{ timestamp: 1 }, "timestamp: expected a non-empty string, found a number"],
    [{ cwd: null }, "cwd: expected a string, found null"],
    [{ parentSession: 1 }, "parentSession: expected a string, found a number"],
    [{ metadata: [] }, "metadata: expected an object, found an array"],
  ])("[EN6] a header with %j is refused: %s", (fields, message) => {
    const result = parseHeaderJson(JSON.stringify({ ...header, ...fields }));
    expect(result).toMatchObject({ ok: false, error: { message } });
  });
});
