import { beforeEach, describe, expect, test } from "vitest";
import {
  type AgentMessageLike,
  InMemorySessionStorage,
  moveWithSummary,
  planBranchSummary,
  Session,
  type SessionEntry,
  type SummaryRequest,
} from "../src/index.ts";

const timestamp = "2026-01-01T00:00:00.000Z";

function entry(id: string, fields: object): SessionEntry {
  return { id, parentId: null, timestamp, ...fields } as SessionEntry;
}

/** A message of 40 characters, which is 10 tokens. */
function message(id: string, role: string = "user"): SessionEntry {
  return entry(id, { type: "message", message: { role, content: id.padEnd(40, ".") } });
}

function idsIn(messages: readonly AgentMessageLike[]): string[] {
  return messages.map((each) => String(each.content ?? each.summary).replaceAll(".", ""));
}

describe("planBranchSummary", () => {
  const [a, b, c, d] = [message("a"), message("b"), message("c", "assistant"), message("d")];

  test("[CO12] what is left are the entries below the last one both branches share", () => {
    const plan = planBranchSummary([a, b, c], [a, d]);
    expect(plan.commonAncestorId).toBe("a");
    expect(plan.abandonedEntries).toEqual([b, c]);
    expect(idsIn(plan.messages)).toEqual(["b", "c"]);
    expect(planBranchSummary([a, b], [d])).toMatchObject({ commonAncestorId: null, abandonedEntries: [a, b] });
    expect(planBranchSummary([a, b], [])).toMatchObject({ commonAncestorId: null, abandonedEntries: [a, b] });
    expect(planBranchSummary([a], [a, b])).toMatchObject({ commonAncestorId: "a", abandonedEntries: [], messages: [] });
    expect(planBranchSummary([], [a])).toMatchObject({ commonAncestorId: null, abandonedEntries: [] });
  });

  test("[CO13] tool results are left out; of the rest the newest that fit the budget are taken", () => {
    const left = [a, b, message("result", "toolResult"), c, d];
    expect(idsIn(planBranchSummary(left, [a]).messages)).toEqual(["b", "c", "d"]);
    expect(idsIn(planBranchSummary(left, [a], 25).messages)).toEqual(["c", "d"]);
    expect(planBranchSummary(left, [a], 5).messages).toEqual([]);
  });

  test("[CO13] a summary that exceeds the budget is still taken while the budget is not nearly used up", () => {
    const summary = entry("s", { type: "branch_summary", fromId: "a", summary: "s".padEnd(400, ".") });
    expect(idsIn(planBranchSummary([a, summary, c, d], [a], 30).messages)).toEqual(["s", "c", "d"]);
    expect(idsIn(planBranchSummary([a, summary, c, d], [a], 21).messages)).toEqual(["c", "d"]);
  });

  test("[CO13] a compaction on the branch that is left stands for what it replaced there", () => {
    const compaction = entry("k", { type: "compaction", summary: "k", firstKeptEntryId: "c", tokensBefore: 1 });
    expect(idsIn(planBranchSummary([a, b, c, compaction, d], [a]).messages)).toEqual(["k", "c", "d"]);
    // It keeps from above the common ancestor on, so everything below is still there.
    const wider = { ...compaction, firstKeptEntryId: "a" } as SessionEntry;
    expect(idsIn(planBranchSummary([a, b, c, wider, d], [a]).messages)).toEqual(["k", "b", "c", "d"]);
  });

  test("[CO9] files of the branch that is left are listed, those of its own summaries included", () => {
    const call = { type: "toolCall", id: "1", name: "edit", arguments: { path: "new" } };
    const edited = entry("e", { type: "message", message: { role: "assistant", content: [call] } });
    const details = { readFiles: ["old"], modifiedFiles: [] };
    const summary = entry("s", { type: "branch_summary", fromId: "a", summary: "s", details });
    expect(planBranchSummary([a, summary, edited], [a]).files).toEqual({ readFiles: ["old"], modifiedFiles: ["new"] });
  });
});

describe("moveWithSummary", () => {
  let session: Session;
  let requests: SummaryRequest[];
  const summarize = async (request: SummaryRequest): Promise<string> => {
    requests.push(request);
    return "what was there";
  };

  beforeEach(() => {
    session = new Session(new InMemorySessionStorage());
    requests = [];
  });

  async function say(content: string): Promise<string> {
    return session.appendMessage({ role: "user", content });
  }

  test("[CO14] it moves and leaves the summary of the branch that was left at the target", async () => {
    const root = await say("root");
    await say("aside");
    const id = await moveWithSummary(session, root, summarize, { instructions: "names only" });
    expect(requests).toMatchObject([{ kind: "branch", messages: [{ content: "aside" }], instructions: "names only" }]);
    expect(await session.getLeafId()).toBe(id);
    expect(await session.getEntry(id ?? "")).toMatchObject({
      ...{ type: "branch_summary", parentId: root, fromId: root, summary: "what was there" },
      details: { readFiles: [], modifiedFiles: [] },
    });
    expect(idsIn((await session.buildContext()).messages)).toEqual(["root", "what was there"]);
    expect((await session.getEntries()).map((each) => each.type)).toEqual([
      "message",
      "message",
      "leaf",
      "branch_summary",
    ]);
  });

  test("[CO14] without anything to summarise it only moves; to where the leaf is it does nothing", async () => {
    const root = await say("root");
    const aside = await session.appendModelChange("p", "m");
    expect(await moveWithSummary(session, aside, summarize)).toBeUndefined();
    expect(await session.getEntries()).toHaveLength(2);
    expect(await moveWithSummary(session, root, summarize)).toBeUndefined();
    expect(await session.getLeafId()).toBe(root);
    expect(requests).toEqual([]);
  });

  test("[CO15] an unknown target, a failing summary or a leaf that moved meanwhile leave everything as it is", async () => {
    const root = await say("root");
    const aside = await say("aside");
    await expect(moveWithSummary(session, "nowhere", summarize)).rejects.toMatchObject({ code: "not_found" });
    const failure = new Error("no model");
    await expect(moveWithSummary(session, root, () => Promise.reject(failure))).rejects.toBe(failure);
    expect(await session.getLeafId()).toBe(aside);
    const overtaken = moveWithSummary(session, root, async () => {
      await say("meanwhile");
      return "too late";
    });
    await expect(overtaken).rejects.toMatchObject({ code: "invalid_session" });
    expect(await session.getEntries()).toHaveLength(3);
  });

  test("[CO15] a move that is queued while the caller summarises goes first, and the summary is refused", async () => {
    const root = await say("root");
    const middle = await say("middle");
    await say("aside");
    const queued: Promise<unknown>[] = [];
    const overtaken = moveWithSummary(session, root, async () => {
      queued.push(session.moveTo(middle));
      return "too late";
    });
    await expect(overtaken).rejects.toMatchObject({ code: "invalid_session" });
    await Promise.all(queued);
    expect(await session.getLeafId()).toBe(middle);
    expect(await session.getStorage().findEntries("branch_summary")).toEqual([]);
  });

  test("[CO15] so is a move without anything to summarise", async () => {
    const root = await say("root");
    await session.appendModelChange("p", "m");
    const queued = [say("said meanwhile"), say("and more")];
    await expect(moveWithSummary(session, root, summarize)).rejects.toMatchObject({ code: "invalid_session" });
    expect(await session.getLeafId()).toBe(await queued[1]);
  });
});
