import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  buildSessionContext,
  findPayloadFault,
  InMemorySessionStorage,
  planBranchSummary,
  planCompaction,
  readForkLines,
  Session,
  type SessionEntry,
  SessionError,
} from "../src/index.ts";

const base = { id: "a", parentId: null, timestamp: "2026-01-01T00:00:00.000Z" };
const user = { role: "user", content: "x" };

/** A sound entry of every type. */
const soundEntries = [
  { type: "message", message: user },
  { type: "thinking_level_change", thinkingLevel: "high" },
  { type: "model_change", provider: "p", modelId: "m" },
  { type: "active_tools_change", activeToolNames: ["read"] },
  { type: "compaction", summary: "s", tokensBefore: 1, firstKeptEntryId: "e0" },
  { type: "compaction", summary: "s", tokensBefore: 1, retainedTail: [user], systemMessage: { role: "system" } },
  { type: "branch_summary", summary: "", fromId: "root" },
  { type: "custom", customType: "c" },
  { type: "custom_message", customType: "c", content: [], display: false },
  { type: "label", targetId: "e0", label: "x" },
  { type: "session_info", name: "x" },
  { type: "leaf", targetId: "e0" },
  { type: "usage", kind: "k", provider: "p", model: "m", usage: {} },
  { type: "context_edit", targetId: "e0", replacement: { content: "x" } },
  { type: "context_edit", targetId: "e0", replacement: null },
  { type: "from_the_future", message: 7 },
];

function faultOf(fields: object): ReturnType<typeof findPayloadFault> {
  return findPayloadFault({ ...base, ...fields } as SessionEntry);
}

describe("payloads", () => {
  test.each(soundEntries)("[EN7] %j is sound", (fields) => {
    expect(faultOf(fields)).toBeUndefined();
  });

  test.each<[object, string]>([
    [{ type: "message" }, "message: expected an object, found nothing"],
    [{ type: "message", message: { content: "x" } }, "message.role: expected a string, found nothing"],
    [{ type: "thinking_level_change", thinkingLevel: 3 }, "thinkingLevel: expected a string, found a number"],
    [{ type: "model_change", modelId: "m" }, "provider: expected a string, found nothing"],
    [{ type: "model_change", provider: "p", modelId: null }, "modelId: expected a string, found null"],
    [{ type: "active_tools_change", activeToolNames: "x" }, "activeToolNames: expected an array, found a string"],
    [
      { type: "active_tools_change", activeToolNames: ["x", 1] },
      "activeToolNames[1]: expected a string, found a number",
    ],
    [{ type: "compaction", tokensBefore: 1 }, "summary: expected a string, found nothing"],
    [{ type: "compaction", summary: "s", tokensBefore: "1" }, "tokensBefore: expected a number, found a string"],
    [
      { type: "compaction", summary: "s", tokensBefore: 1, firstKeptEntryId: 7 },
      "firstKeptEntryId: expected a string, found a number",
    ],
    [
      { type: "compaction", summary: "s", tokensBefore: 1, retainedTail: {} },
      "retainedTail: expected an array, found an object",
    ],
    [
      { type: "compaction", summary: "s", tokensBefore: 1, retainedTail: [user, {}] },
      "retainedTail[1].role: expected a string, found nothing",
    ],
    [
      { type: "compaction", summary: "s", tokensBefore: 1, systemMessage: "x" },
      "systemMessage: expected an object, found a string",
    ],
    [{ type: "branch_summary", fromId: "a" }, "summary: expected a string, found nothing"],
    [{ type: "branch_summary", summary: "s" }, "fromId: expected a string, found nothing"],
    [{ type: "custom" }, "customType: expected a string, found nothing"],
    [{ type: "custom_message", customType: "c", content: "x" }, "display: expected true or false, found nothing"],
    [
      { type: "custom_message", customType: "c", content: {}, display: true },
      "content: expected a string or an array, found an object",
    ],
    [{ type: "usage", kind: "k", provider: "p", model: "m", usage: 7 }, "usage: expected an object, found a number"],
    [{ type: "context_edit", targetId: "a" }, "replacement: expected an object, found nothing"],
    [
      { type: "context_edit", targetId: "a", replacement: {} },
      "replacement.content: expected a string or an array, found nothing",
    ],
  ])("[EN7] in %j the fault is %s", (fields, message) => {
    expect(faultOf(fields)).toEqual({ field: message.slice(0, message.indexOf(":")), message });
  });

  test("[SE20] whatever the payloads on a path are, its context, plans and counts come out", async () => {
    const anyField = fc.constantFrom(...new Set(soundEntries.flatMap((fields) => Object.keys(fields).slice(1))));
    const anyValue = fc.oneof(
      fc.constantFrom<unknown>(user, [user], [null], [{ type: "toolCall" }], { role: "assistant", usage: null }),
      fc.jsonValue({ maxDepth: 2 }),
    );
    const anyMessage = fc
      .dictionary(fc.constantFrom("content", "usage", "toolCallId", "summary"), anyValue)
      .chain((fields) =>
        fc.constantFrom("user", "assistant", "toolResult", "system", 7).map((role) => ({ role, ...fields })),
      );
    const anyPayload = fc
      .tuple(
        fc.constantFrom(...soundEntries),
        fc.dictionary(anyField, anyValue, { maxKeys: 3 }),
        fc.option(anyMessage, { freq: 2, nil: undefined }),
      )
      .map(([sound, fields, message]) => ({ ...sound, ...fields, ...(message === undefined ? {} : { message }) }));
    let faults = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyPayload, { minLength: 1, maxLength: 6 }), async (payloads) => {
        const path = payloads.map(
          (fields, index) =>
            ({ ...base, ...fields, id: `e${index}`, parentId: index === 0 ? null : `e${index - 1}` }) as SessionEntry,
        );
        faults += path.filter((entry) => findPayloadFault(entry) !== undefined).length;
        for (const rules of ["harness", "coding-agent"] as const) {
          buildSessionContext(path, { rules });
          planCompaction(path, { keepRecentTokens: 1 }, { rules });
          planBranchSummary(path, path.slice(0, 1), 1, { rules });
        }
        const storage = new InMemorySessionStorage();
        await storage.appendJson(path.map((entry) => JSON.stringify(entry))).catch(expectInvalidEntry);
        await storage.getSessionStats();
        for (const { id } of await storage.getEntries()) {
          await storage.getPathToRootOrCompaction(id);
          await readForkLines(storage, { entryId: id }).catch(expectSessionError);
          await new Session(storage).appendContextEdit(id, null).catch(expectSessionError);
        }
      }),
      { numRuns: 300 },
    );
    expect(faults).toBeGreaterThan(0);
  });
});

function expectSessionError(error: unknown): void {
  expect(error).toBeInstanceOf(SessionError);
}

function expectInvalidEntry(error: unknown): void {
  expect(error).toMatchObject({ code: "invalid_entry" });
}
