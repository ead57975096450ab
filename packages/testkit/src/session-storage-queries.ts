import type { SessionEntry } from "@coppice/core";
import { describe, expect, test } from "vitest";
import {
  expectCode,
  idsOf,
  messageEntry,
  type SessionStorageFactory,
  type SessionStorageUnderTest,
  unknownEntry,
  withSession,
} from "./session-storage-under-test.ts";

const timestamp = "2026-01-01T00:00:00.000Z";

/** The part of the contract about reading: entries, branches, the tree, labels, name, statistics. */
export function testQueries(factory: SessionStorageFactory): void {
  /** Appends the entries, then runs the checks on the storage and again on the reopened one. */
  const afterAppending = (entries: readonly SessionEntry[], check: Check): Promise<void> =>
    withSession(factory, async (session) => {
      for (const entry of entries) await session.storage.appendEntry(entry);
      await check(session.storage);
      await check(await session.reopen());
    });

  describe("queries", () => {
    test("[ST3] an entry whose parent is missing waits and attaches when it comes", () =>
      withSession(factory, async ({ storage, reopen }) => {
        await storage.appendEntry(messageEntry("a", null));
        await storage.appendEntry(messageEntry("c", "b"));
        expect(idsOf(await storage.getChildren(null))).toEqual(["a"]);
        await expectCode(storage.getPathToRoot("c"), "invalid_session");
        await storage.appendEntry(messageEntry("b", "a"));
        for (const reader of [storage, await reopen()]) {
          expect(idsOf(await reader.getPathToRoot("c"))).toEqual(["a", "b", "c"]);
          expect(idsOf(await reader.getChildren("b"))).toEqual(["c"]);
        }
      }));

    test("[ST4] getPathToRoot: null gives nothing, an unknown id not_found, an empty parentId ends the path", () =>
      afterAppending([messageEntry("a", ""), messageEntry("b", "a")], async (storage) => {
        expect(await storage.getPathToRoot(null)).toEqual([]);
        expect(idsOf(await storage.getPathToRoot("b"))).toEqual(["a", "b"]);
        await expectCode(storage.getPathToRoot("nowhere"), "not_found");
      }));

    test("[ST20] a cycle and a self-parent end with invalid_session, and the rest of the tree stays readable", () =>
      afterAppending(
        [messageEntry("x", "y"), messageEntry("y", "x"), messageEntry("s", "s"), messageEntry("a", null)],
        async (storage) => {
          for (const id of ["x", "y", "s"]) {
            await expectCode(storage.getPathToRoot(id), "invalid_session");
            await expectCode(storage.getPathToRootOrCompaction(id), "invalid_session");
          }
          expect(idsOf(await storage.getEntries())).toEqual(["x", "y", "s", "a"]);
          expect(idsOf(await storage.getPathToRoot("a"))).toEqual(["a"]);
          expect(idsOf(await storage.getChildren(null))).toEqual(["a"]);
          expect(idsOf(await storage.getTips())).toEqual(["a"]);
        },
      ));

    test("[ST20] a cycle ends with invalid_session also below a compaction that keeps one of its entries", () => {
      const compaction: SessionEntry = {
        type: "compaction",
        id: "y",
        parentId: "x",
        timestamp,
        summary: "so far",
        firstKeptEntryId: "y",
        tokensBefore: 1,
      };
      // What else the tree holds must not decide how often the walk goes round.
      const others = ["a", "b", "c", "d"].map((id) => messageEntry(id, null));
      return afterAppending([messageEntry("x", "y"), compaction, ...others], async (storage) => {
        await expectCode(storage.getPathToRootOrCompaction("y"), "invalid_session");
        await expectCode(storage.getPathToRootOrCompaction("x"), "invalid_session");
      });
    });

    test("[ST6] children and tips come in log order, without leaf entries", () =>
      afterAppending(
        [
          messageEntry("a", null),
          messageEntry("b", "a"),
          { type: "leaf", id: "f", parentId: "b", timestamp, targetId: "a" },
          messageEntry("c", "a"),
          messageEntry("under-leaf", "f"),
          messageEntry("r", null),
        ],
        async (storage) => {
          expect(idsOf(await storage.getChildren(null))).toEqual(["a", "r"]);
          expect(idsOf(await storage.getChildren("a"))).toEqual(["b", "c"]);
          // pi-coding-agent continues a file's last line, also when that is a leaf entry.
          expect(idsOf(await storage.getChildren("b"))).toEqual(["under-leaf"]);
          expect(await storage.getChildren("c")).toEqual([]);
          expect(await storage.getChildren("nowhere")).toEqual([]);
          expect(idsOf(await storage.getTips())).toEqual(["c", "under-leaf", "r"]);
        },
      ));

    test("[ST7] the last label of an entry counts, trimmed; a blank one takes it away; the target need not exist", () =>
      afterAppending(
        [
          messageEntry("a", null),
          { type: "label", id: "l1", parentId: "a", timestamp, targetId: "a", label: "first" },
          { type: "label", id: "l2", parentId: "l1", timestamp, targetId: "a", label: "  second " },
          { type: "label", id: "l3", parentId: "l2", timestamp, targetId: "nowhere", label: "ghost" },
          { type: "label", id: "l4", parentId: "l3", timestamp, targetId: "l1", label: "gone" },
          { type: "label", id: "l5", parentId: "l4", timestamp, targetId: "l1", label: "  " },
          { type: "label", id: "l6", parentId: "l5", timestamp, targetId: "l2", label: "gone" },
          { type: "label", id: "l7", parentId: "l6", timestamp, targetId: "l2" },
        ],
        async (storage) => {
          expect(await storage.getLabel("a")).toBe("second");
          expect(await storage.getLabel("nowhere")).toBe("ghost");
          expect(await storage.getLabel("l1")).toBeUndefined();
          expect(await storage.getLabel("l2")).toBeUndefined();
          expect(await storage.getLabel("l3")).toBeUndefined();
        },
      ));

    test("[ST7] the last session_info of the whole tree names the session; an empty name clears it", () =>
      withSession(factory, async (session) => {
        const { storage } = session;
        expect(await storage.getSessionName()).toBeUndefined();
        await storage.appendEntry({ type: "session_info", id: "i", parentId: null, timestamp, name: " One " });
        expect(await storage.getSessionName()).toBe("One");
        await storage.appendEntry({ type: "session_info", id: "j", parentId: null, timestamp, name: "" });
        expect(await storage.getSessionName()).toBeUndefined();
        expect(await (await session.reopen()).getSessionName()).toBeUndefined();
      }));

    test("[ST11] findEntries gives a type's entries of the whole tree in log order; getEntry any one of them", () =>
      afterAppending(
        [messageEntry("a", null), messageEntry("b", null), unknownEntry("u", "b"), messageEntry("c", "a")],
        async (storage) => {
          expect(idsOf(await storage.findEntries("message"))).toEqual(["a", "b", "c"]);
          expect(await storage.findEntries("compaction")).toEqual([]);
          expect(await storage.getEntry("b")).toEqual(messageEntry("b", null));
          expect(await storage.getEntry("nowhere")).toBeUndefined();
          expect(await storage.getEntryJson("nowhere")).toBeUndefined();
        },
      ));

    test("[ST25] entries of unknown types keep all their fields and take their place on the branch", () => {
      const future = unknownEntry("u", "a", { payload: { deep: [1, { x: null }] }, flag: false });
      return afterAppending([messageEntry("a", null), future, messageEntry("b", "u")], async (storage) => {
        expect(await storage.getEntry("u")).toEqual(future);
        expect(idsOf(await storage.getPathToRoot("b"))).toEqual(["a", "u", "b"]);
        expect(await storage.findEntries("from_the_future" as never)).toEqual([future]);
      });
    });

    test("[ST21] getEntries takes a limit, and counts afterEntrySeq in order of arrival", () =>
      afterAppending([messageEntry("a", null), messageEntry("b", "a"), messageEntry("c", "b")], async (storage) => {
        expect(idsOf(await storage.getEntries({ limit: 2 }))).toEqual(["a", "b"]);
        expect(idsOf(await storage.getEntries({ afterEntrySeq: 0 }))).toEqual(["a", "b", "c"]);
        expect(idsOf(await storage.getEntries({ afterEntrySeq: 1, limit: 1 }))).toEqual(["b"]);
        expect(await storage.getEntries({ afterEntrySeq: 3 })).toEqual([]);
      }));

    test("[ST26] getPathToRootOrCompaction starts where the model's context starts", async () => {
      const compaction = (id: string, parentId: string, fields: object): SessionEntry =>
        ({ type: "compaction", id, parentId, timestamp, summary: "s", tokensBefore: 1, ...fields }) as SessionEntry;
      await afterAppending(
        [
          messageEntry("a", null),
          messageEntry("b", "a"),
          messageEntry("c", "b"),
          compaction("keeps-b", "c", { firstKeptEntryId: "b" }),
          messageEntry("d", "keeps-b"),
          compaction("keeps-all", "d", {}),
          messageEntry("e", "keeps-all"),
          compaction("has-tail", "e", { retainedTail: [{ role: "user", content: "x" }] }),
          messageEntry("f", "has-tail"),
        ],
        async (storage) => {
          expect(idsOf(await storage.getPathToRootOrCompaction("d"))).toEqual(["b", "c", "keeps-b", "d"]);
          expect(idsOf(await storage.getPathToRootOrCompaction("f"))).toEqual(["has-tail", "f"]);
          // A compaction met further up takes over: from e the walk stops at b, as in pi-agent-core 0.82.
          const fromE = ["b", "c", "keeps-b", "d", "keeps-all", "e"];
          expect(idsOf(await storage.getPathToRootOrCompaction("e"))).toEqual(fromE);
          expect(idsOf(await storage.getPathToRootOrCompaction("c"))).toEqual(["a", "b", "c"]);
          expect(await storage.getPathToRootOrCompaction(null)).toEqual([]);
          await expectCode(storage.getPathToRootOrCompaction("nowhere"), "not_found");
        },
      );
    });

    test("[ST27] getSessionStats counts messages and adds up complete usage over the whole tree", () => {
      const usage = { input: 10, output: 5, cacheRead: 100, cacheWrite: 20, cost: { total: 0.5 } };
      const assistant = (id: string, fields: object): SessionEntry =>
        ({ ...messageEntry(id, "a"), message: { role: "assistant", content: [], ...fields } }) as SessionEntry;
      return afterAppending(
        [
          messageEntry("a", null),
          assistant("b", { usage }),
          assistant("c", { usage: { ...usage, cost: undefined } }),
          { type: "branch_summary", id: "s", parentId: "a", timestamp, fromId: "a", summary: "s", usage },
          { type: "compaction", id: "k", parentId: "a", timestamp, summary: "s", tokensBefore: 1 },
        ],
        async (storage) =>
          expect(await storage.getSessionStats()).toEqual({
            messageCount: 3,
            cachedTokens: 200,
            uncachedTokens: 60,
            totalTokens: 270,
            costTotal: 1,
          }),
      );
    });

    test("[ST5] a path of 2,000 entries is complete and in order", () => {
      const lines = Array.from({ length: 2_000 }, (_, index) =>
        JSON.stringify(messageEntry(`e${index}`, index === 0 ? null : `e${index - 1}`)),
      );
      return withSession(factory, async (session) => {
        await session.storage.appendJson(lines);
        for (const reader of [session.storage, await session.reopen()]) {
          const path = await reader.getPathToRoot("e1999");
          expect(path.map((entry) => JSON.stringify(entry))).toEqual(lines);
        }
      });
    });
  });
}

type Check = (storage: SessionStorageUnderTest["storage"]) => Promise<void>;
