import { describe, expect, it } from "vitest";
import { resolveEntryId, resolveReference } from "../src/resolve-reference.ts";
import { UsageError } from "../src/usage-error.ts";
import { userEntry } from "./support/make-entries.ts";

const things = [
  { id: "01a2-aaaa-1111", name: "Fix the test" },
  { id: "01a2-bbbb-2222", name: "Fix the test" },
  { id: "01a2-cccc-3333", name: "Other" },
  { id: "01a2-cccc" },
];

const resolve = (reference: string): string => resolveReference(things, reference, "session", "list them").id;

describe("resolveReference", () => {
  it.each([
    ["01a2-cccc", "01a2-cccc", "an exact id, though it also starts another one"],
    ["Other", "01a2-cccc-3333", "a name"],
    ["01a2-a", "01a2-aaaa-1111", "a unique start"],
    ["2222", "01a2-bbbb-2222", "a unique end"],
  ])("[CP15] %s finds %s: %s", (reference, id) => {
    expect(resolve(reference)).toBe(id);
  });

  it("[CP15] says which things an ambiguous text fits", () => {
    expect(() => resolve("01a2")).toThrow(
      '"01a2" fits 4 of the sessions: 01a2-aaaa-1111 (Fix the test), 01a2-bbbb-2222 (Fix the test), 01a2-cccc-3333 (Other), 01a2-cccc; give more of the id.',
    );
    expect(() => resolve("Fix the test")).toThrow('"Fix the test" fits 2 of the sessions');
  });

  it("[CP15] lists at most five candidates and counts the rest", () => {
    const many = Array.from({ length: 8 }, (_, index) => ({ id: `x${index}` }));
    expect(() => resolveReference(many, "x", "session", "list them")).toThrow("x0, x1, x2, x3, x4 and 3 more; give");
  });

  it("[CP15] says what to do when nothing fits, and takes an empty text for wrong usage", () => {
    expect(() => resolve("zzz")).toThrow('No session is called or starts or ends with "zzz"; list them.');
    expect(() => resolve(" ")).toThrow(UsageError);
  });

  it("[CP15] finds entries by their ids alone", () => {
    const timestamp = "2026-12-01T10:00:00.000Z";
    const renaming = { type: "session_info" as const, id: "e2", parentId: "e1", timestamp, name: "e1" };
    expect(resolveEntryId([userEntry("e1", null), renaming], "e1")).toBe("e1");
    expect(() => resolveEntryId([renaming], "e1")).toThrow("No entry");
  });
});
