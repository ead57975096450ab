import { describe, expect, test } from "vitest";
import {
  type AgentMessageLike,
  buildContextEntries,
  buildSessionContext,
  type ContextOptions,
  detectContextRules,
  InMemorySessionStorage,
  Session,
  type SessionEntry,
} from "../src/index.ts";

const timestamp = "2026-01-01T00:00:00.000Z";
const timestampMs = Date.parse(timestamp);

/** A path of entries e0, e1, ... each continuing the one before. */
function path(...contents: object[]): SessionEntry[] {
  return contents.map(
    (content, index) =>
      ({ id: `e${index}`, parentId: index === 0 ? null : `e${index - 1}`, timestamp, ...content }) as SessionEntry,
  );
}

function message(role: string, content: unknown = role, fields: object = {}): object {
  return { type: "message", message: { role, content, ...fields } };
}

function compaction(summary: string, firstKeptEntryId: string | undefined, fields: object = {}): object {
  return { type: "compaction", summary, firstKeptEntryId, tokensBefore: 9, ...fields };
}

/** Contents and summaries of the context, in order. */
function textsOf(entries: readonly SessionEntry[], options?: ContextOptions): unknown[] {
  return buildSessionContext(entries, options).messages.map((each) => each.summary ?? each.content);
}

describe("context projection", () => {
  test("[SE9] without a compaction every entry of the path counts", () => {
    expect(textsOf(path(message("user", 1), { type: "label", targetId: "e0" }, message("assistant", 2)))).toEqual([
      1, 2,
    ]);
    expect(buildSessionContext([])).toEqual({ messages: [], thinkingLevel: "off", model: null, activeToolNames: null });
  });

  test("[SE9] with compactions: the last one, what it keeps, what follows; older ones in the kept range again", () => {
    const entries = path(
      message("user", 0),
      message("user", 1),
      compaction("older", "e1"),
      message("user", 3),
      compaction("newest", "e1"),
      message("user", 5),
    );
    expect(textsOf(entries)).toEqual(["newest", 1, "older", 3, 5]);
    expect(buildContextEntries(entries).map((entry) => entry.id)).toEqual(["e4", "e1", "e2", "e3", "e5"]);
  });

  test.each([["nowhere"], [undefined], ["e3"]])("[SE9] a compaction that keeps from %s on keeps nothing", (keptId) => {
    const entries = path(message("user", 0), message("user", 1), compaction("s", keptId), message("user", 3));
    expect(textsOf(entries, { rules: "harness" })).toEqual(["s", 3]);
    expect(textsOf(entries, { rules: "coding-agent" })).toEqual(["s", 3]);
  });

  test("[SE10] a retained tail stands for what the compaction would keep from the branch", () => {
    const tail = [
      { role: "user", content: "kept" },
      { role: "assistant", content: "too" },
    ];
    const entries = path(message("user", 0), compaction("s", "e0", { retainedTail: tail }), message("user", 2));
    expect(textsOf(entries)).toEqual(["s", "kept", "too", 2]);
  });

  test("[SE11] each type gives its messages, with the entry's time in milliseconds", () => {
    const stored = { role: "toolResult", content: [], toolCallId: "c", extra: true };
    const custom = { customType: "hint", content: "text", display: true, details: { d: 1 } };
    const entries = path(
      { type: "message", message: stored },
      { type: "custom_message", ...custom },
      { type: "branch_summary", summary: "left", fromId: "e0" },
      { type: "branch_summary", summary: "", fromId: "e0" },
      { type: "custom", customType: "silent", data: 1 },
      { type: "session_info", name: "n" },
      { type: "from_the_future", content: "x" },
      { type: "leaf", targetId: "e0" },
    );
    expect(buildSessionContext(entries).messages).toEqual([
      stored,
      { role: "custom", ...custom, timestamp: timestampMs },
      { role: "branchSummary", summary: "left", fromId: "e0", timestamp: timestampMs },
    ]);
    const [first] = buildSessionContext(path(compaction("s", undefined))).messages;
    expect(first).toEqual({ role: "compactionSummary", summary: "s", tokensBefore: 9, timestamp: timestampMs });
  });

  test("[SE11] transforms run in order after the selection; custom entries speak through their projector", async () => {
    const storage = new InMemorySessionStorage();
    const session = new Session(storage, {
      entryTransforms: [(entries) => entries.slice(1)],
      entryProjectors: { note: () => [{ role: "user", content: "session's" }], other: () => undefined },
    });
    await session.appendMessage({ role: "user", content: "dropped" });
    await session.appendCustomEntry("note", 1);
    await session.appendCustomEntry("other", 2);
    const seen: unknown[] = [];
    const options: ContextOptions = {
      entryTransforms: [(entries) => [...entries].reverse()],
      entryProjectors: {
        other: (entry, index, entries) => {
          seen.push(entry.data, index, entries.length);
          return [{ role: "user", content: "call's" }];
        },
      },
    };
    const contents = (messages: readonly AgentMessageLike[]): unknown[] => messages.map((each) => each.content);
    expect(contents((await session.buildContext()).messages)).toEqual(["session's"]);
    expect(contents((await session.buildContext(options)).messages)).toEqual(["call's", "session's"]);
    expect(seen).toEqual([2, 0, 2]);
    const entries = await session.buildContextEntries(options);
    expect(entries.map((entry) => entry.type === "custom" && entry.data)).toEqual([2, 1]);
  });

  test("[SE2] state is that of the whole path, the last entry that says so deciding, also before a compaction", () => {
    const { model, thinkingLevel, activeToolNames } = buildSessionContext(
      path(
        { type: "model_change", provider: "p", modelId: "m1" },
        { type: "thinking_level_change", thinkingLevel: "low" },
        { type: "thinking_level_change", thinkingLevel: "high" },
        { type: "active_tools_change", activeToolNames: ["a"] },
        { type: "active_tools_change", activeToolNames: [] },
        message("assistant", "x", { provider: "q", model: "m2" }),
        message("user", "y", { provider: "not", model: "this" }),
        compaction("s", undefined),
      ),
    );
    expect({ model, thinkingLevel, activeToolNames }).toEqual({
      model: { provider: "q", modelId: "m2" },
      thinkingLevel: "high",
      activeToolNames: [],
    });
  });

  describe("of pi 1.6", () => {
    const rules = "coding-agent";

    test("[SE12] the compaction's system message replaces those of the kept range; older compactions say nothing", () => {
      const system = { role: "system", content: "prompt" };
      const entries = path(
        message("system", "old prompt"),
        message("user", 1),
        message("system", "patch"),
        compaction("older", "e1", { systemMessage: system }),
        compaction("newest", "e1", { systemMessage: system }),
        message("system", "later patch"),
      );
      expect(textsOf(entries, { rules })).toEqual(["prompt", "newest", 1, "later patch"]);
      expect(textsOf(entries, { rules: "harness" })).toEqual(["newest", 1, "patch", "older", "later patch"]);
    });

    test("[SE12] the last context edit of an entry replaces its content or leaves it out", () => {
      const edit = (targetId: string, replacement: object | null): object => ({
        type: "context_edit",
        targetId,
        replacement,
      });
      const entries = path(
        message("user", "a"),
        message("assistant", [{ type: "text", text: "b" }]),
        message("user", "c"),
        { type: "custom_message", customType: "t", content: "d", display: true },
        message("bashExecution", "untouched"),
        edit("e0", null),
        edit("e0", { content: "A" }),
        edit("e1", { content: "B" }),
        edit("e2", null),
        edit("e3", { content: [] }),
        edit("e4", { content: "no" }),
      );
      const text = [{ type: "text", text: "B" }];
      expect(textsOf(entries)).toEqual(["A", text, [], "untouched"]);
      expect(textsOf(entries, { rules: "harness" })).toHaveLength(5);
      // An edit that a compaction cut away no longer holds.
      const later = path(message("user", "a"), edit("e0", null), compaction("s", "e0"), message("user", "z"));
      expect(textsOf(later, { rules })).toEqual(["s", "z"]);
      const cut = path(message("user", "a"), edit("e3", null), compaction("s", undefined), message("user", "z"));
      expect(textsOf(cut, { rules })).toEqual(["s", "z"]);
    });

    test.each([
      [message("system"), "coding-agent"],
      [{ type: "usage", kind: "k", provider: "p", model: "m", usage: {} }, "coding-agent"],
      [{ type: "context_edit", targetId: "e0", replacement: null }, "coding-agent"],
      [compaction("s", "e1"), "coding-agent"],
      [compaction("s", "e0", { systemMessage: { role: "system" } }), "coding-agent"],
      [compaction("s", "e0"), "harness"],
      [{ type: "leaf", targetId: null }, "harness"],
    ])("[SE13] a path with %j is read by the rules of %s", (content, expected) => {
      expect(detectContextRules(path(message("user"), content))).toBe(expected);
    });
  });

  test("[SE14] entries without their content are left out of the context and named", () => {
    const entries = path(
      { type: "message" },
      message("user", "read"),
      { type: "custom_message" },
      { type: "branch_summary" },
      { type: "thinking_level_change" },
      { type: "model_change" },
      { type: "active_tools_change" },
      { type: "context_edit", targetId: "e1" },
    );
    expect(buildSessionContext(entries)).toEqual({
      messages: [{ role: "user", content: "read" }],
      ...{ thinkingLevel: "off", model: null, activeToolNames: null },
      unreadable: ["e0", "e2", "e3"],
    });
    expect(textsOf(path({ type: "message", message: null }, { type: "compaction" }))).toEqual([]);
  });
});
