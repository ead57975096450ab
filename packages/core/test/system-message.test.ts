import { describe, expect, test } from "vitest";
import {
  type AgentMessageLike,
  compactSession,
  foldSystemMessages,
  InMemorySessionStorage,
  Session,
  type SessionEntry,
} from "../src/index.ts";

function system(fields: object): AgentMessageLike {
  return { role: "system", content: "", timestamp: 1, ...fields };
}

describe("foldSystemMessages", () => {
  test("[CO16] texts are joined, sections patched by name, tools added and removed in order", () => {
    const messages = [
      system({ content: "base", sections: { rules: "one", date: "May", gone: "x" }, toolsAdded: [{ name: "a" }] }),
      { role: "user", content: "not this" },
      system({ content: [{ type: "text", text: "more" }, { type: "image" }, { type: "text", text: "lines" }] }),
      system({ sections: { date: "June", gone: null }, toolsAdded: [{ name: "b" }, { name: "a", v: 2 }] }),
      system({ toolsRemoved: [{ name: "b" }], toolsAdded: [{ name: "c" }] }),
    ];
    expect(foldSystemMessages(messages, 7)).toEqual({
      ...{ role: "system", content: "base\n\nmore\nlines", timestamp: 7 },
      sections: { rules: "one", date: "June" },
      toolsAdded: [{ name: "a", v: 2 }, { name: "c" }],
    });
  });

  test("[CO16] what is empty is left out, and nothing comes of no system message", () => {
    expect(foldSystemMessages([{ role: "user", content: "x" }], 7)).toBeUndefined();
    expect(foldSystemMessages([system({ sections: { a: "x" } }), system({ sections: { a: null } })], 7)).toEqual({
      ...{ role: "system", content: "", timestamp: 7 },
    });
  });

  test("[SE20] fields that are none of those do no harm", () => {
    const junk = system({ content: 7, sections: ["x"], toolsAdded: "read", toolsRemoved: [null, 7] });
    expect(foldSystemMessages([junk], 7)).toMatchObject({ role: "system", content: "" });
  });
});

describe("compactions of a branch of pi 1.6", () => {
  const prompt = system({ content: "be kind", toolsAdded: [{ name: "read" }] });

  async function startSession(...messages: AgentMessageLike[]): Promise<Session> {
    const session = new Session(new InMemorySessionStorage(), { now: () => 5 });
    for (const message of messages) await session.appendMessage(message);
    return session;
  }

  test("[CO16] the system prompt and what patched it are in the compaction, and so in the context", async () => {
    const user = { role: "user", content: "x".repeat(40) };
    const session = await startSession(prompt, user, system({ content: "and brief" }), user);
    const id = await compactSession(session, async () => "summary", { keepRecentTokens: 10 });
    const withoutTools = { role: "system", content: "be kind\n\nand brief", timestamp: 5 };
    const folded = { ...withoutTools, toolsAdded: prompt.toolsAdded };
    expect(await session.getEntry(id ?? "")).toMatchObject({ type: "compaction", systemMessage: folded });
    const summary = { role: "compactionSummary", summary: "summary", tokensBefore: 25, timestamp: 5 };
    expect((await session.buildContext()).messages).toEqual([folded, summary, user]);
    // The next one starts from the message that this one carries.
    await session.appendMessage(system({ toolsRemoved: [{ name: "read" }] }));
    const next = await session.appendCompaction("again", undefined, 1);
    expect(await session.getEntry(next)).toMatchObject({ systemMessage: withoutTools });
    expect((await session.buildContext()).messages).toMatchObject([withoutTools, { summary: "again" }]);
  });

  test("[CO16] other branches and other rules get none, and one that is given stays", async () => {
    const systemMessageOf = async (session: Session, id: string): Promise<unknown> => {
      const entry = (await session.getEntry(id)) as Extract<SessionEntry, { type: "compaction" }>;
      return entry.systemMessage;
    };
    const older = await startSession({ role: "user", content: "x" });
    expect(await systemMessageOf(older, await older.appendCompaction("s", undefined, 1))).toBeUndefined();
    const session = await startSession(prompt);
    const harness = new Session(session.getStorage(), { rules: "harness" });
    expect(await systemMessageOf(harness, await harness.appendCompaction("s", undefined, 1))).toBeUndefined();
    const given = system({ content: "given" });
    const id = await session.appendFromBranch((branch) => {
      expect(branch.map(({ type }) => type)).toEqual(["message", "compaction"]);
      return { type: "compaction", summary: "s", tokensBefore: 1, systemMessage: given };
    });
    expect(await systemMessageOf(session, id)).toEqual(given);
  });

  test("[CO16] a compaction on a branch whose root is missing is appended like anything else", async () => {
    const session = new Session(new InMemorySessionStorage());
    const entry = { type: "usage", id: "u", parentId: "nowhere", timestamp: "t" } as never;
    await session.getStorage().appendEntry(entry);
    const id = await session.appendCompaction("s", undefined, 1);
    expect(await session.getEntry(id)).toMatchObject({ parentId: "u" });
  });
});
