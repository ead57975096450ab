import { beforeEach, describe, expect, test } from "vitest";
import { InMemorySessionStorage, Session, SessionError } from "../src/index.ts";

let storage: InMemorySessionStorage;
let session: Session<InMemorySessionStorage>;

beforeEach(() => {
  let count = 0;
  storage = new InMemorySessionStorage({ createId: () => `id${++count}` });
  session = new Session(storage, { now: () => 0 });
});

const usage = { input: 1 };

describe("Session appends", () => {
  test.each<[string, () => Promise<unknown>, object]>([
    [
      "message",
      () => session.appendMessage({ role: "user", content: "x" }),
      { message: { role: "user", content: "x" } },
    ],
    ["thinking_level_change", () => session.appendThinkingLevelChange("high"), { thinkingLevel: "high" }],
    ["model_change", () => session.appendModelChange("p", "m"), { provider: "p", modelId: "m" }],
    ["active_tools_change", () => session.appendActiveToolsChange(["t"]), { activeToolNames: ["t"] }],
    [
      "compaction",
      () => session.appendCompaction("s", "k", 5),
      { summary: "s", firstKeptEntryId: "k", tokensBefore: 5 },
    ],
    [
      "compaction",
      () => session.appendCompaction("s", undefined, 5, { d: 1 }, true, usage, [{ role: "user" }]),
      { summary: "s", tokensBefore: 5, retainedTail: [{ role: "user" }], details: { d: 1 }, usage, fromHook: true },
    ],
    ["custom", () => session.appendCustomEntry("c", { a: 1 }), { customType: "c", data: { a: 1 } }],
    ["custom", () => session.appendCustomEntry("c"), { customType: "c" }],
    [
      "custom_message",
      () => session.appendCustomMessageEntry("c", "text", false, { d: 1 }),
      { customType: "c", content: "text", display: false, details: { d: 1 } },
    ],
    ["session_info", () => session.appendSessionName("  two\r\nlines "), { name: "two lines" }],
    ["label", () => session.appendLabel("id1", "here"), { targetId: "id1", label: "here" }],
    ["label", () => session.appendLabel("id1", undefined), { targetId: "id1" }],
    [
      "usage",
      () => session.appendUsage("title", "p", "m", usage, "n"),
      { kind: "title", provider: "p", model: "m", usage, note: "n" },
    ],
    ["context_edit", () => session.appendContextEdit("id1", null), { targetId: "id1", replacement: null }],
  ])(
    "[SE5] %s: a new id under the leaf, an ISO time, and the fields of its type (%#)",
    async (type, append, fields) => {
      const first = await session.appendMessage({ role: "user", content: "first" });
      const id = await append();
      const entry = { type, id: "id2", parentId: first, timestamp: "1970-01-01T00:00:00.000Z", ...fields };
      expect(id).toBe("id2");
      expect(await storage.getEntryJson("id2")).toBe(JSON.stringify(entry));
      expect(await session.getLeafId()).toBe("id2");
    },
  );

  test("[SE6] a label on an unknown entry is refused with not_found and nothing is written", async () => {
    await expect(session.appendLabel("nowhere", "x")).rejects.toMatchObject({ code: "not_found" });
    expect(await session.getEntries()).toEqual([]);
  });

  test("[SE6] labels and name are those of the whole tree, trimmed, and can be cleared", async () => {
    const root = await session.appendMessage({ role: "user" });
    await session.appendLabel(root, " start ");
    await session.appendSessionName("name");
    await session.moveTo(null);
    expect([await session.getLabel(root), await session.getSessionName()]).toEqual(["start", "name"]);
    await session.appendLabel(root, " ");
    await session.appendSessionName("");
    expect([await session.getLabel(root), await session.getSessionName()]).toEqual([undefined, undefined]);
  });

  test("[SE7] a move with a summary leaves a branch_summary at its target and returns its id", async () => {
    const target = await session.appendMessage({ role: "user" });
    await session.appendMessage({ role: "assistant" });
    const id = await session.moveTo(target, { summary: "left", details: { d: 1 }, fromHook: true, usage });
    expect(await session.getEntry(id ?? "")).toMatchObject({
      ...{ type: "branch_summary", parentId: target, fromId: target, summary: "left" },
      ...{ details: { d: 1 }, fromHook: true, usage },
    });
    const atRoot = await session.moveTo(null, { summary: "" });
    expect(await session.getEntry(atRoot ?? "")).toMatchObject({ parentId: null, fromId: "root", summary: "" });
    expect(await session.getLeafId()).toBe(atRoot);
    expect((await session.buildContext()).messages).toEqual([]);
  });

  test("[SE7] a move to an unknown entry is refused with not_found and nothing is written", async () => {
    await expect(session.moveTo("nowhere", { summary: "s" })).rejects.toMatchObject({ code: "not_found" });
    expect(await session.getEntries()).toEqual([]);
  });

  test("[SE8] getBranch gives the path to the leaf or to the entry asked for", async () => {
    const a = await session.appendMessage({ role: "user" });
    const b = await session.appendMessage({ role: "assistant" });
    expect((await session.getBranch()).map((entry) => entry.id)).toEqual([a, b]);
    expect((await session.getBranch(a)).map((entry) => entry.id)).toEqual([a]);
    await expect(session.getBranch("nowhere")).rejects.toMatchObject({ code: "not_found" });
  });

  test("[SE15] a context edit needs a target on the branch that gives the model content", async () => {
    const root = await session.appendMessage({ role: "user" });
    const model = await session.appendModelChange("p", "m");
    const aside = await session.appendMessage({ role: "assistant" });
    await session.moveTo(model);
    const count = (await session.getEntries()).length;
    await expect(session.appendContextEdit("nowhere", null)).rejects.toMatchObject({ code: "not_found" });
    await expect(session.appendContextEdit(aside, null)).rejects.toMatchObject({ code: "invalid_entry" });
    await expect(session.appendContextEdit(model, null)).rejects.toMatchObject({ code: "invalid_entry" });
    await expect(session.appendContextEdit(root, { content: 7 })).rejects.toMatchObject({ code: "invalid_entry" });
    expect(await session.getEntries()).toHaveLength(count);
    await session.appendContextEdit(root, { content: "edited" });
    expect((await session.buildContext()).messages).toEqual([{ role: "user", content: "edited" }]);
  });

  test("[SE16] an append that fails does not hold up or fail those behind it", async () => {
    const failing = session.appendLabel("nowhere", "x");
    const good = session.appendMessage({ role: "user" });
    await expect(failing).rejects.toBeInstanceOf(SessionError);
    expect(await session.getLeafId()).toBe(await good);
  });

  test("[SE21] an entry made from the branch sees all that was appended before its turn, and can be called off", async () => {
    const queued = ["a", "b"].map((content) => session.appendMessage({ role: "user", content }));
    const made = session.appendFromBranch((branch) => ({ type: "custom", customType: "c", data: branch.length }));
    const behind = session.appendMessage({ role: "user", content: "c" });
    await expect(
      session.appendFromBranch(() => {
        throw new Error("called off");
      }),
    ).rejects.toThrow("called off");
    expect(await session.getEntry(await made)).toMatchObject({ parentId: await queued[1], data: 2 });
    expect(await session.getEntry(await behind)).toMatchObject({ parentId: await made });
    expect(await session.getLeafId()).toBe(await behind);
    expect(await session.getEntries()).toHaveLength(4);
  });

  test("[SE7] a move that names the leaf it leaves is refused when the leaf is another by then", async () => {
    const root = await session.appendMessage({ role: "user" });
    const leaf = await session.appendMessage({ role: "user" });
    const queued = session.appendMessage({ role: "user" });
    await expect(session.moveTo(root, { summary: "s" }, leaf)).rejects.toMatchObject({ code: "invalid_session" });
    expect(await session.getEntries()).toHaveLength(3);
    await session.moveTo(root, undefined, await queued);
    expect(await session.getLeafId()).toBe(root);
  });

  test("[SE17] identity, statistics and the log are the storage's", async () => {
    await session.appendMessage({ role: "user" });
    expect(session.getStorage()).toBe(storage);
    expect(await session.getMetadata()).toEqual(await storage.getMetadata());
    expect(await session.getSessionStats()).toEqual(await storage.getSessionStats());
    expect(await session.getEntries({ limit: 0 })).toEqual([]);
  });
});
