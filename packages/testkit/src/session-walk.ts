import { type AgentMessageLike, Session, type SessionStorage } from "@coppice/core";
import { describe, expect, test } from "vitest";
import { idsOf, type SessionStorageFactory, withSession } from "./session-storage-under-test.ts";

/** What a `Session` on the storage must do: the walk back and forth in the tree, and state that stays on its branch. */
export function testWalk(factory: SessionStorageFactory): void {
  describe("a session on it", () => {
    test("[SE1] the walk: u1 a1 u2 a2, move to a1, u3", () =>
      withSession(factory, async ({ storage, reopen }) => {
        const session = new Session(storage);
        const leaves: (string | null)[] = [];
        const note = async (): Promise<void> => {
          leaves.push(await storage.getLeafId());
        };
        const u1 = await session.appendMessage(user("u1"));
        await note();
        const a1 = await session.appendMessage(assistant("a1"));
        await note();
        const u2 = await session.appendMessage(user("u2"));
        await note();
        const a2 = await session.appendMessage(assistant("a2"));
        await note();
        expect(await session.moveTo(a1)).toBeUndefined();
        await note();
        const u3 = await session.appendMessage(user("u3"));
        await note();
        expect(leaves).toEqual([u1, a1, u2, a2, a1, u3]);

        for (const reader of [storage, await reopen()]) {
          const log = await reader.getEntries();
          const move = log[4];
          expect(idsOf(log)).toEqual([u1, a1, u2, a2, move?.id, u3]);
          expect(move).toMatchObject({ type: "leaf", parentId: a2, targetId: a1 });
          expect(new Set(idsOf(log)).size).toBe(6);
          expect(log[5]?.parentId).toBe(a1);
          expect(await reader.getLeafId()).toBe(u3);
          expect(await contextTexts(reader)).toEqual(["u1", "a1", "u3"]);
          const branch = await new Session(reader).buildContextEntries();
          expect(idsOf(branch)).toEqual([u1, a1, u3]);
        }
      }));

    test("[SE1] the walk to before the first entry: u1 a1, move to null, u2 starts a second root", () =>
      withSession(factory, async ({ storage, reopen }) => {
        const session = new Session(storage);
        const u1 = await session.appendMessage(user("u1"));
        const a1 = await session.appendMessage(assistant("a1"));
        await session.moveTo(null);
        expect(await storage.getLeafId()).toBeNull();
        expect(await session.getBranch()).toEqual([]);
        expect(await contextTexts(storage)).toEqual([]);
        const afterMove = await reopen();
        expect(await afterMove.getLeafId()).toBeNull();
        const u2 = await new Session(afterMove).appendMessage(user("u2"));

        const reader = await reopen();
        const log = await reader.getEntries();
        expect(idsOf(log)).toEqual([u1, a1, log[2]?.id, u2]);
        expect(log[2]).toMatchObject({ type: "leaf", parentId: a1, targetId: null });
        expect(log[3]?.parentId).toBeNull();
        expect(idsOf(await reader.getChildren(null))).toEqual([u1, u2]);
        expect(await contextTexts(reader)).toEqual(["u2"]);
      }));

    test("[SE2] model, thinking level and tools stay on the branch that set them", () =>
      withSession(factory, async ({ storage, reopen }) => {
        const session = new Session(storage);
        const unset = { thinkingLevel: "off", model: null, activeToolNames: null };
        expect(await session.buildContext()).toEqual({ ...unset, messages: [] });
        const root = await session.appendMessage(user("root"));
        await session.appendModelChange("acme", "one");
        await session.appendThinkingLevelChange("high");
        const set = await session.appendActiveToolsChange(["read"]);
        const onBranch = {
          thinkingLevel: "high",
          model: { provider: "acme", modelId: "one" },
          activeToolNames: ["read"],
        };
        expect(await session.buildContext()).toMatchObject(onBranch);
        await session.moveTo(root);
        expect(await session.buildContext()).toMatchObject(unset);
        await session.appendMessage(assistant("sibling"));
        const fromAssistant = { provider: "acme", modelId: "two" };
        expect(await session.buildContext()).toMatchObject({ ...unset, model: fromAssistant });

        const later = new Session(await reopen());
        expect(await later.buildContext()).toMatchObject({ ...unset, model: fromAssistant });
        await later.moveTo(set);
        expect(await later.buildContext()).toMatchObject(onBranch);
      }));

    test("[SE3] a compaction and a branch summary shorten the context; state and every entry remain", () =>
      withSession(factory, async ({ storage, reopen }) => {
        const session = new Session(storage);
        const first = await session.appendMessage(user("first"));
        await session.appendModelChange("acme", "cut away");
        const kept = await session.appendMessage(user("kept"));
        await session.appendCompaction("what was", kept, 1_000);
        await session.appendMessage(user("after"));
        const context = await session.buildContext();
        expect(context.model).toEqual({ provider: "acme", modelId: "cut away" });
        expect(textsOf(context.messages)).toEqual(["what was", "kept", "after"]);

        const summaryId = await session.moveTo(first, { summary: "a side branch" });
        const later = new Session(await reopen());
        expect(await later.getLeafId()).toBe(summaryId);
        expect(textsOf((await later.buildContext()).messages)).toEqual(["first", "a side branch"]);
        const types = (await later.getEntries()).map((entry) => entry.type);
        expect(types).toEqual([
          "message",
          "model_change",
          "message",
          "compaction",
          "message",
          "leaf",
          "branch_summary",
        ]);
      }));

    test("[SE4] appends that are not awaited chain instead of forking the tree", () =>
      withSession(factory, async ({ storage, reopen }) => {
        const session = new Session(storage);
        const texts = Array.from({ length: 20 }, (_, index) => `m${index}`);
        const ids = await Promise.all(texts.map((text) => session.appendMessage(user(text))));
        const [, last] = await Promise.all([session.moveTo(ids[2] ?? null), session.appendMessage(user("moved"))]);
        for (const reader of [storage, await reopen()]) {
          expect(idsOf(await reader.getPathToRoot(ids.at(-1) ?? null))).toEqual(ids);
          expect((await reader.getEntry(last))?.parentId).toBe(ids[2]);
          expect(idsOf(await reader.getTips())).toEqual([ids.at(-1), last]);
        }
      }));
  });
}

function user(text: string): AgentMessageLike {
  return { role: "user", content: [{ type: "text", text }], timestamp: 1_767_225_600_000 };
}

function assistant(text: string): AgentMessageLike {
  return { ...user(text), role: "assistant", provider: "acme", model: "two" };
}

async function contextTexts(storage: SessionStorage): Promise<string[]> {
  return textsOf((await new Session(storage).buildContext()).messages);
}

/** The text or summary of each message. */
function textsOf(messages: readonly AgentMessageLike[]): string[] {
  return messages.map((message) => {
    const [block] = Array.isArray(message.content) ? message.content : [];
    return String(message.summary ?? block?.text);
  });
}
