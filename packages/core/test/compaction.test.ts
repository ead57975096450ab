import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type AgentMessageLike,
  collectFileLists,
  compactSession,
  estimateContextTokens,
  estimateTokens,
  InMemorySessionStorage,
  planCompaction,
  readToolCalls,
  Session,
  type SessionEntry,
  type SummaryRequest,
  shouldCompact,
} from "../src/index.ts";

const timestamp = "2026-01-01T00:00:00.000Z";

/** A path of entries e0, e1, ... each continuing the one before. */
function path(...contents: object[]): SessionEntry[] {
  return contents.map(
    (content, index) =>
      ({ id: `e${index}`, parentId: index === 0 ? null : `e${index - 1}`, timestamp, ...content }) as SessionEntry,
  );
}

/** Messages of 40 characters, which is 10 tokens. */
function text(label: string): string {
  return label.padEnd(40, ".");
}

function user(label: string): object {
  return { type: "message", message: { role: "user", content: text(label) } };
}

function assistant(label: string, ...callIds: string[]): object {
  const calls = callIds.map((id) => ({ type: "toolCall", id, name: "", arguments: {} }));
  return { type: "message", message: { role: "assistant", content: [{ type: "text", text: text(label) }, ...calls] } };
}

function result(callId: string): object {
  return { type: "message", message: { role: "toolResult", toolCallId: callId, content: text(callId) } };
}

function labelsOf(messages: readonly AgentMessageLike[] | undefined): string[] {
  return (messages ?? []).map((message) => {
    const [first] = Array.isArray(message.content) ? message.content : [{ text: message.content ?? message.summary }];
    return String(first.text).replaceAll(".", "");
  });
}

describe("token estimates", () => {
  test.each<[AgentMessageLike, number]>([
    [{ role: "user", content: "12345" }, 2],
    [
      {
        role: "user",
        content: [
          { type: "text", text: "1234" },
          { type: "image", data: "x" },
        ],
      },
      1_201,
    ],
    [{ role: "assistant", content: [{ type: "thinking", thinking: "1234" }] }, 1],
    [{ role: "assistant", content: [{ type: "toolCall", id: "c", name: "read", arguments: { a: 1 } }] }, 3],
    [{ role: "bashExecution", command: "1234", output: "1234" }, 2],
    [{ role: "compactionSummary", summary: "1234" }, 1],
    [{ role: "unknown" }, 0],
    [{ role: "user", content: [null, 7] }, 0],
  ])("[CO1] %j takes about %i tokens", (message, tokens) => {
    expect(estimateTokens(message)).toBe(tokens);
  });

  test("[CO1] what the provider counted counts; only what follows is estimated", () => {
    const counted = { role: "assistant", content: "", usage: { totalTokens: 500 } };
    const parts = { role: "assistant", content: "", usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 } };
    const failed = { ...counted, stopReason: "error", usage: { totalTokens: 9_000 } };
    const last = { role: "user", content: "12345678" };
    expect(estimateContextTokens([last, counted, last])).toBe(502);
    expect(estimateContextTokens([counted, parts, last])).toBe(12);
    expect(estimateContextTokens([counted, failed, last])).toBe(502);
    expect(estimateContextTokens([last, last])).toBe(4);
    expect(estimateContextTokens([])).toBe(0);
  });

  test("[CO2] a context is compacted when less than the reserve is left of the window", () => {
    const settings = { keepRecentTokens: 1, reserveTokens: 100 };
    expect(shouldCompact(900, 1_000, settings)).toBe(false);
    expect(shouldCompact(901, 1_000, settings)).toBe(true);
  });
});

describe("planCompaction", () => {
  test("[CO3] the cut keeps about as many recent tokens as asked for, at the beginning of a turn if it falls there", () => {
    const entries = path(user("u1"), assistant("a1"), user("u2"), assistant("a2"), user("u3"), assistant("a3"));
    const plan = planCompaction(entries, { keepRecentTokens: 20 });
    expect(plan?.firstKeptEntryId).toBe("e4");
    expect(labelsOf(plan?.messagesToSummarize)).toEqual(["u1", "a1", "u2", "a2"]);
    expect(labelsOf(plan?.keptMessages)).toEqual(["u3", "a3"]);
    expect(plan?.turnPrefixMessages).toEqual([]);
    expect(plan?.tokensBefore).toBe(60);
    expect(plan?.previousSummary).toBeUndefined();
  });

  test("[CO4] a cut through a turn hands the beginning of the turn over apart", () => {
    const entries = path(user("u1"), assistant("a1"), user("u2"), assistant("a2"), assistant("a3"));
    const plan = planCompaction(entries, { keepRecentTokens: 10 });
    expect(plan?.firstKeptEntryId).toBe("e4");
    expect(labelsOf(plan?.messagesToSummarize)).toEqual(["u1", "a1"]);
    expect(labelsOf(plan?.turnPrefixMessages)).toEqual(["u2", "a2"]);
  });

  test("[CO5] a cut never parts a tool call from its result, also when something stands between two results", () => {
    const hint = { type: "custom_message", customType: "hint", content: text("hint"), display: true };
    const entries = path(user("u1"), assistant("a1", "c1", "c2"), result("c1"), hint, result("c2"), assistant("a2"));
    expect(planCompaction(entries, { keepRecentTokens: 25 })?.firstKeptEntryId).toBe("e5");
    const open = entries.slice(0, 5);
    // Nothing after the results to cut at: more is kept than asked for.
    expect(planCompaction(open, { keepRecentTokens: 5 })?.firstKeptEntryId).toBe("e1");
  });

  test("[CO5] in any conversation no kept result lacks its call, and kept and summarised make up the whole", () => {
    const anyStep = fc.record({
      kind: fc.constantFrom("user", "assistant", "call", "result", "silent", "orphan"),
      pick: fc.nat(5),
    });
    let plans = 0;
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 30 }), fc.integer({ min: 1, max: 60 }), (steps, keepRecentTokens) => {
        const open: string[] = [];
        const contents = steps.map(({ kind, pick }, index): object => {
          if (kind === "user") return user(`u${index}`);
          if (kind === "assistant") return assistant(`a${index}`);
          if (kind === "silent") return { type: "label", targetId: "e0" };
          if (kind === "orphan") return result("nobody");
          const [callId] = open.splice(pick % Math.max(1, open.length), 1);
          if (kind === "result" && callId !== undefined) return result(callId);
          if (callId !== undefined) open.push(callId);
          open.push(`c${index}`);
          return assistant(`a${index}`, `c${index}`);
        });
        const entries = path(...contents);
        const plan = planCompaction(entries, { keepRecentTokens });
        if (plan === undefined) return;
        plans++;
        const { messagesToSummarize, turnPrefixMessages, keptMessages } = plan;
        const all = entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
        expect([...messagesToSummarize, ...turnPrefixMessages, ...keptMessages]).toEqual(all);
        const callsOf = (messages: readonly AgentMessageLike[]): string[] =>
          messages.flatMap(readToolCalls).map((call) => call.id);
        const cutCalls = callsOf([...messagesToSummarize, ...turnPrefixMessages]);
        for (const message of keptMessages) expect(cutCalls).not.toContain(message.toolCallId);
        expect(keptMessages.length).toBeGreaterThan(0);
      }),
      { numRuns: 300 },
    );
    expect(plans).toBeGreaterThan(0);
  });

  test("[CO6] nothing is planned for an empty path, one that ends in a compaction, and one that is short enough", () => {
    expect(planCompaction([])).toBeUndefined();
    expect(planCompaction(path(user("u1"), { type: "compaction", summary: "s", tokensBefore: 1 }))).toBeUndefined();
    expect(planCompaction(path(user("u1"), assistant("a1")), { keepRecentTokens: 20 })).toBeUndefined();
    expect(planCompaction(path(user("u1"), assistant("a1")))).toBeUndefined();
  });

  test("[CO7] the summary of the compaction before is carried on, and what it kept is summarised now", () => {
    const compaction = { type: "compaction", summary: "so far", firstKeptEntryId: "e1", tokensBefore: 1 };
    const entries = path(user("gone"), user("kept"), compaction, user("u3"), user("u4"));
    const plan = planCompaction(entries, { keepRecentTokens: 10 });
    expect(plan?.previousSummary).toBe("so far");
    expect(labelsOf(plan?.messagesToSummarize)).toEqual(["kept", "u3"]);
    expect(plan?.firstKeptEntryId).toBe("e4");
    const tail = [{ role: "user", content: "tail" }];
    const withTail = path(user("gone"), { ...compaction, retainedTail: tail }, user("u2"), user("u3"));
    expect(labelsOf(planCompaction(withTail, { keepRecentTokens: 10 })?.messagesToSummarize)).toEqual(["tail", "u2"]);
  });

  test("[CO8] system prompts are not summarised, and what a context edit took away does not come back", () => {
    const entries = path(
      { type: "message", message: { role: "system", content: text("prompt") } },
      user("secret"),
      user("u2"),
      { type: "context_edit", targetId: "e1", replacement: null },
      user("u4"),
    );
    const plan = planCompaction(entries, { keepRecentTokens: 10 });
    expect(labelsOf(plan?.messagesToSummarize)).toEqual(["u2"]);
    // Entries without messages directly before the first kept message stay with it.
    expect(plan?.firstKeptEntryId).toBe("e3");
  });

  test("[CO9] files that tools read or changed are listed, those of earlier summaries included", () => {
    const call = (name: string, path: unknown): object => ({ type: "toolCall", id: name, name, arguments: { path } });
    const content = [
      call("read", "b"),
      call("read", "a"),
      call("edit", "b"),
      call("write", "c"),
      call("bash", "d"),
      call("read", 1),
    ];
    const earlier = path(
      { type: "compaction", summary: "", details: { readFiles: ["e", "c"], modifiedFiles: ["f"] } },
      { type: "branch_summary", summary: "", fromHook: true, details: { readFiles: ["hook's own"] } },
      { type: "branch_summary", summary: "", details: "anything" },
    );
    expect(collectFileLists([{ role: "assistant", content }], earlier)).toEqual({
      readFiles: ["a", "e"],
      modifiedFiles: ["b", "c", "f"],
    });
    expect(collectFileLists([{ role: "user", content }], [])).toEqual({ readFiles: [], modifiedFiles: [] });
  });
});

describe("compactSession", () => {
  async function startSession(...labels: string[]): Promise<Session> {
    const session = new Session(new InMemorySessionStorage());
    for (const label of labels) await session.appendMessage({ role: "user", content: text(label) });
    return session;
  }

  test("[CO10] it has the caller summarise, appends the compaction, and cuts nothing from the log", async () => {
    const session = await startSession("u1", "u2");
    const call = { type: "toolCall", id: "c", name: "write", arguments: { path: "/made.ts" } };
    await session.appendMessage({ role: "assistant", content: [call] });
    await session.appendMessage({ role: "toolResult", toolCallId: "c", content: text("done") });
    const keptId = await session.appendMessage({ role: "user", content: text("u3") });
    const requests: SummaryRequest[] = [];
    const id = await compactSession(
      session,
      async (request) => {
        requests.push(request);
        return "summary";
      },
      { keepRecentTokens: 10, instructions: "be short" },
    );
    expect(requests).toMatchObject([{ kind: "history", instructions: "be short" }]);
    expect(requests[0]?.messages).toHaveLength(4);
    expect(await session.getEntry(id ?? "")).toMatchObject({
      ...{ type: "compaction", firstKeptEntryId: keptId, tokensBefore: 46 },
      summary: "summary\n\n<modified-files>\n/made.ts\n</modified-files>",
      details: { readFiles: [], modifiedFiles: ["/made.ts"] },
    });
    expect(labelsOf((await session.buildContext()).messages)).toEqual([expect.stringContaining("summary"), "u3"]);
    expect(await session.getEntries()).toHaveLength(6);
    expect(await compactSession(session, async () => "never", { keepRecentTokens: 10 })).toBeUndefined();
    expect(await session.getEntries()).toHaveLength(6);
  });

  test("[CO10] a split turn is summarised in two requests; the previous summary goes with the history", async () => {
    const session = await startSession("u1", "u2");
    const summarize = async (request: SummaryRequest): Promise<string> =>
      `${request.kind} of ${labelsOf(request.messages)} after ${request.previousSummary}`;
    await compactSession(session, summarize, { keepRecentTokens: 10 });
    await session.appendMessage({ role: "assistant", content: text("a2") });
    await session.appendMessage({ role: "assistant", content: text("a3") });
    const id = await compactSession(session, summarize, { keepRecentTokens: 10, storeRetainedTail: true });
    expect(await session.getEntry(id ?? "")).toMatchObject({
      // Everything before the turn is in the previous summary already, which is carried on as it is.
      summary:
        "history of u1 after undefined\n\n---\n\n**Turn Context (split turn):**\n\nturn-prefix of u2,a2 after undefined",
      retainedTail: [{ role: "assistant", content: text("a3") }],
    });
  });

  test("[CO11] entries appended while the caller summarises stay; a leaf that left the branch is an error", async () => {
    const session = await startSession("u1", "u2");
    const id = await compactSession(
      session,
      async () => {
        await session.appendMessage({ role: "user", content: "meanwhile" });
        return "summary";
      },
      { keepRecentTokens: 10 },
    );
    expect(labelsOf((await session.buildContext()).messages)).toEqual(["summary", "u2", "meanwhile"]);
    expect(await session.getLeafId()).toBe(id);

    await session.appendMessage({ role: "user", content: text("u4") });
    const leaving = compactSession(
      session,
      async () => {
        await session.moveTo(null);
        return "summary";
      },
      { keepRecentTokens: 10 },
    );
    await expect(leaving).rejects.toMatchObject({ code: "invalid_session" });
    expect(await session.getStorage().findEntries("compaction")).toHaveLength(1);
  });

  test("[CO11] a move that is queued while the caller summarises goes first, and the compaction is refused", async () => {
    const session = await startSession("u1", "u2");
    const queued: Promise<unknown>[] = [];
    const overtaken = compactSession(
      session,
      async () => {
        for (const content of ["a", "b", "c"]) queued.push(session.appendMessage({ role: "user", content }));
        queued.push(session.moveTo(null));
        return "too late";
      },
      { keepRecentTokens: 10 },
    );
    await expect(overtaken).rejects.toMatchObject({ code: "invalid_session" });
    await Promise.all(queued);
    expect(await session.getLeafId()).toBeNull();
    expect(await session.getStorage().findEntries("compaction")).toEqual([]);
  });

  test("[CO11] when the caller's summary fails, the failure is passed on and nothing is written", async () => {
    const session = await startSession("u1", "u2");
    const failure = new Error("no model");
    const failing = compactSession(session, () => Promise.reject(failure), { keepRecentTokens: 10 });
    await expect(failing).rejects.toBe(failure);
    expect(await session.getEntries()).toHaveLength(2);
  });
});
