import fc from "fast-check";
import { expect, test } from "vitest";
import { readContextPath } from "../src/context-path.ts";
import {
  buildContextEntries,
  buildSessionContext,
  entryToTreeNode,
  InMemorySessionStorage,
  Session,
  type SessionEntry,
} from "../src/index.ts";

const idOf = (index: number): string => `e${index}`;
const ofRole = (role: string) => ({ type: "message", message: { role, content: "x", provider: role, model: "m" } });

/** What may follow the common fields of the entry at an index of the path; a compaction may keep from anywhere. */
const arbitraryFields = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("user", "assistant", "toolResult").map(ofRole) },
  fc.constantFrom<object>(
    ofRole("system"),
    { type: "message", message: null },
    { type: "thinking_level_change", thinkingLevel: "high" },
    { type: "thinking_level_change", thinkingLevel: 7 },
    { type: "model_change", provider: "p", modelId: "m" },
    { type: "active_tools_change", activeToolNames: ["read"] },
    { type: "usage", kind: "k", usage: {} },
    { type: "custom_message", customType: "c", content: [], display: false },
    { type: "branch_summary", summary: "s", fromId: "root" },
    { type: "label", targetId: "e0", label: "x" },
  ),
  fc.nat(30).map((index) => ({ type: "context_edit", targetId: idOf(index), replacement: { content: "y" } })),
  { weight: 2, arbitrary: fc.nat(30).map((index) => compactionFrom(index)) },
  fc.nat(30).map((index) => ({ ...compactionFrom(index), retainedTail: [{ role: "user", content: "kept" }] })),
  fc.nat(30).map((index) => ({ ...compactionFrom(index), systemMessage: { role: "system", content: "s" } })),
);

const compactionFrom = (index: number) => ({
  type: "compaction",
  summary: "s",
  tokensBefore: 1,
  firstKeptEntryId: idOf(index),
});

const arbitraryPath = fc.array(fc.tuple(arbitraryFields, fc.nat(9)), { maxLength: 30, size: "max" });

test("[SE22] a context is the same from the part of the path that has a say in it, whatever stands on the path", async () => {
  let leftOut = 0;
  await fc.assert(
    fc.asyncProperty(arbitraryPath, async (items) => {
      const entries = items.map(([fields], index) => toEntry(fields, index));
      // One in ten cannot be read: a storage then gives an entry of another type.
      const shown = entries.map((entry, index) =>
        items[index]?.[1] === 0 ? ({ ...toEntry({ type: "unreadable" }, index) } as SessionEntry) : entry,
      );
      const byId = new Map(shown.map((entry) => [entry.id, entry]));
      const part = await readContextPath(entries.map(entryToTreeNode), ({ id }) => byId.get(id) as SessionEntry);

      leftOut += shown.length - part.length;
      for (const rules of [undefined, "harness", "coding-agent"] as const) {
        const options = rules === undefined ? {} : { rules };
        expect(buildContextEntries(part, options)).toEqual(buildContextEntries(shown, options));
        expect(buildSessionContext(part, options)).toEqual(buildSessionContext(shown, options));
      }
    }),
    { numRuns: 500 },
  );
  expect(leftOut).toBeGreaterThan(500);
});

test("[SE22] messages that a compaction has replaced are not read for a context, except the last of an assistant", async () => {
  const roles = ["user", "assistant", "user", "assistant", "user"];
  const fields = [...roles.map(ofRole), compactionFrom(4), ofRole("user")];
  const entries = fields.map(toEntry);
  const read: string[] = [];

  await readContextPath(entries.map(entryToTreeNode), ({ id }) => {
    read.push(id);
    return entries.find((entry) => entry.id === id) as SessionEntry;
  });

  expect(new Set(read)).toEqual(new Set(["e3", "e4", "e5", "e6"]));
});

test("[SE22] a session asks its storage for that part only", async () => {
  class Storage extends InMemorySessionStorage {
    override getPathToRoot(): Promise<SessionEntry[]> {
      throw new Error("not asked for the whole path");
    }
  }
  const entries = [ofRole("user"), ofRole("assistant"), ofRole("user"), compactionFrom(2)].map(toEntry);
  const session = new Session(new Storage({ entries }));

  expect(await session.buildContext()).toMatchObject({
    model: { provider: "assistant" },
    messages: [{ role: "compactionSummary" }, { role: "user" }],
  });
  expect((await session.buildContextEntries()).map(({ id }) => id)).toEqual(["e3", "e2"]);
});

function toEntry(fields: object, index: number): SessionEntry {
  const parentId = index === 0 ? null : idOf(index - 1);
  return { id: idOf(index), parentId, timestamp: "2026-01-01T00:00:00.000Z", ...fields } as unknown as SessionEntry;
}
