import type { SessionChange, SessionEntry, SessionStorage } from "@coppice/core";
import { describe, expect, test } from "vitest";
import { exactTexts } from "./exact-texts.ts";
import {
  expectCode,
  idsOf,
  messageEntry,
  type SessionStorageFactory,
  unknownEntry,
  withSession,
} from "./session-storage-under-test.ts";

/** The part of the contract about writing: appends, the leaf, exact texts, subscribers, closing. */
export function testAppends(factory: SessionStorageFactory): void {
  describe("appends", () => {
    test("[ST10] a new session is empty and has no leaf", () =>
      withSession(factory, async ({ storage }) => {
        expect(await storage.getLeafId()).toBeNull();
        expect(await storage.getEntries()).toEqual([]);
        const metadata = await storage.getMetadata();
        expect(metadata.id).not.toBe("");
        expect(new Date(metadata.createdAt).toISOString()).toBe(metadata.createdAt);
      }));

    test("[ST10] identity, entries and leaf are the same after reopening", () =>
      withSession(factory, async ({ storage, reopen }) => {
        const metadata = await storage.getMetadata();
        await storage.appendEntry(messageEntry("a", null));
        await storage.appendEntry(messageEntry("b", "a"));
        const entries = await storage.getEntries();
        const reopened = await reopen();
        expect(await reopened.getMetadata()).toEqual(metadata);
        expect(await reopened.getEntries()).toEqual(entries);
        expect(await reopened.getLeafId()).toBe("b");
      }));

    test("[ST11] an appended entry becomes the leaf, whatever its type; a leaf entry makes its target the leaf", () =>
      withSession(factory, async ({ storage, reopen }) => {
        const timestamp = "2026-01-01T00:00:00.000Z";
        const entries: [SessionEntry, string][] = [
          [messageEntry("m", null), "m"],
          [{ type: "label", id: "l", parentId: "m", timestamp, targetId: "m", label: "here" }, "l"],
          [{ type: "session_info", id: "i", parentId: "l", timestamp, name: "name" }, "i"],
          [unknownEntry("u", "i"), "u"],
          [{ type: "leaf", id: "f", parentId: "u", timestamp, targetId: "m" }, "m"],
        ];
        for (const [entry, leafId] of entries) {
          await storage.appendEntry(entry);
          expect(await storage.getLeafId()).toBe(leafId);
        }
        expect(await (await reopen()).getLeafId()).toBe("m");
      }));

    test("[ST12] setLeafId appends a leaf entry with its own id, under the leaf that was left", () =>
      withSession(factory, async ({ storage, reopen }) => {
        await storage.appendEntry(messageEntry("a", null));
        await storage.appendEntry(messageEntry("b", "a"));
        await storage.setLeafId("a");
        await storage.setLeafId("a");
        await storage.setLeafId(null);
        expect(await storage.getLeafId()).toBeNull();
        const moves = await storage.findEntries("leaf");
        expect(moves.map((move) => [move.parentId, move.targetId])).toEqual([
          ["b", "a"],
          ["a", "a"],
          ["a", null],
        ]);
        expect(new Set(idsOf(await storage.getEntries())).size).toBe(5);
        const reopened = await reopen();
        expect(await reopened.getLeafId()).toBeNull();
        expect(await reopened.findEntries("leaf")).toEqual(moves);
      }));

    test("[ST13] moving to an unknown entry is refused with not_found and writes nothing", () =>
      withSession(factory, async ({ storage }) => {
        await storage.appendEntry(messageEntry("a", null));
        await expectCode(storage.setLeafId("nowhere"), "not_found");
        expect(idsOf(await storage.getEntries())).toEqual(["a"]);
        expect(await storage.getLeafId()).toBe("a");
      }));

    test("[ST13] a recorded leaf that is not a known entry is reported as invalid_session", () =>
      withSession(factory, async ({ storage }) => {
        const timestamp = "2026-01-01T00:00:00.000Z";
        await storage.appendEntry({ type: "leaf", id: "f", parentId: null, timestamp, targetId: "nowhere" });
        await expectCode(storage.getLeafId(), "invalid_session");
        await storage.setLeafId(null);
        expect(await storage.getLeafId()).toBeNull();
      }));

    test("[ST14] created ids are new, and asking for one writes nothing", () =>
      withSession(factory, async ({ storage }) => {
        const first = await storage.createEntryId();
        await storage.appendEntry(messageEntry(first, null));
        const second = await storage.createEntryId();
        expect(second).not.toBe(first);
        expect(idsOf(await storage.getEntries())).toEqual([first]);
      }));

    test("[ST15] appends that are not awaited keep the order of the calls", () =>
      withSession(factory, async ({ storage, reopen }) => {
        const ids = Array.from({ length: 50 }, (_, index) => `e${index}`);
        const calls = ids.map((id, index) => storage.appendEntry(messageEntry(id, ids[index - 1] ?? null)));
        calls.push(
          storage.appendJson([JSON.stringify(messageEntry("x", "e49")), JSON.stringify(messageEntry("y", "x"))]).then(),
        );
        calls.push(storage.appendEntry(messageEntry("z", "y")));
        await Promise.all(calls);
        expect(idsOf(await storage.getEntries())).toEqual([...ids, "x", "y", "z"]);
        expect(await storage.getLeafId()).toBe("z");
        const reopened = await reopen();
        expect(idsOf(await reopened.getEntries())).toEqual([...ids, "x", "y", "z"]);
        expect(idsOf(await reopened.getPathToRoot("z"))).toEqual([...ids, "x", "y", "z"]);
      }));

    test("[ST16] an entry is kept as it was at the call, whatever the caller does to the object later", () =>
      withSession(factory, async ({ storage }) => {
        const entry = messageEntry("a", null, "before") as Extract<SessionEntry, { type: "message" }>;
        const appended = storage.appendEntry(entry);
        entry.message.content = "after";
        await appended;
        expect(await storage.getEntry("a")).toEqual(messageEntry("a", null, "before"));
      }));

    test("[ST17] an entry's JSON text comes back byte for byte", () =>
      withSession(factory, async ({ storage, reopen }) => {
        const ids = exactTexts.map(({ id }) => id);
        const lines = exactTexts.map(({ json }) => json);
        expect(await storage.appendJson(lines)).toEqual(ids);
        const custom = unknownEntry("d", "surrogates", { nested: { list: [null, true, "x"] } });
        await storage.appendEntry(custom);
        const expected = [...lines, JSON.stringify(custom)];
        for (const reader of [storage, await reopen()]) {
          expect(await readTexts(reader, [...ids, "d"])).toEqual(expected);
        }
        expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
      }));

    test("[ST18] appendJson leaves out a text that is in the log already and returns the ids it wrote", () =>
      withSession(factory, async ({ storage, reopen }) => {
        const [a, b, c] = [messageEntry("a", null), messageEntry("b", "a"), messageEntry("c", "b")].map((entry) =>
          JSON.stringify(entry),
        ) as [string, string, string];
        expect(await storage.appendJson([a, b])).toEqual(["a", "b"]);
        expect(await storage.appendJson([a, b, c, c])).toEqual(["c"]);
        expect(await storage.appendJson([])).toEqual([]);
        expect(await storage.appendJson([a])).toEqual([]);
        expect(await storage.getLeafId()).toBe("c");
        const reopened = await reopen();
        expect(idsOf(await reopened.getEntries())).toEqual(["a", "b", "c"]);
        expect(await reopened.appendJson([c])).toEqual([]);
      }));

    test("[ST18] one bad text among many is refused as invalid_entry, naming line and field, and nothing is written", () =>
      withSession(factory, async ({ storage }) => {
        const good = JSON.stringify(messageEntry("a", null));
        const badTexts: [string, RegExp][] = [
          ["{torn", /JSON/],
          ["42", /object/],
          ['{"type":"x","parentId":null,"timestamp":"t"}', /id/],
          ['{"type":"x","id":"b","parentId":7,"timestamp":"t"}', /parentId/],
          ['{"type":"x",\n"id":"b","parentId":null,"timestamp":"t"}', /line break/],
          ['{"type":"leaf","id":"b","parentId":null,"timestamp":"t"}', /targetId/],
        ];
        for (const [bad, message] of badTexts) {
          const error = await expectCode(storage.appendJson([good, bad]), "invalid_entry");
          expect(error.message).toMatch(message);
          expect(error.message).toContain("Line 2");
        }
        expect(await storage.getEntries()).toEqual([]);
        expect(await storage.getLeafId()).toBeNull();
      }));

    test("[ST19] of several entries with one id the first in the log is shown, before and after reopening", () =>
      withSession(factory, async ({ storage, reopen }) => {
        await storage.appendEntry(messageEntry("a", null, "first"));
        await storage.appendEntry(messageEntry("b", "a"));
        await storage.appendEntry(messageEntry("a", "b", "second"));
        expect(await storage.getLeafId()).toBe("a");
        for (const reader of [storage, await reopen()]) {
          expect(idsOf(await reader.getEntries())).toEqual(["a", "b"]);
          expect(await reader.getEntry("a")).toEqual(messageEntry("a", null, "first"));
          expect(await reader.getEntryJson("a")).toBe(JSON.stringify(messageEntry("a", null, "first")));
          expect(idsOf(await reader.getPathToRoot("b"))).toEqual(["a", "b"]);
        }
      }));

    test("[ST34] a record whose content differs from all others of its id is told as a conflict; a copy is silent", () =>
      withSession(factory, async ({ storage }) => {
        const changes: SessionChange[] = [];
        const lastHeard = new Promise<void>((resolve) => {
          storage.subscribe((change) => {
            changes.push(change);
            if (change.added.some((entry) => entry.id === "last")) resolve();
          });
        });
        const texts = ["first", "second", "third"].map((text) => JSON.stringify(messageEntry("a", null, text)));
        await storage.appendEntry(messageEntry("a", null, "first"));
        await storage.appendEntry(messageEntry("a", null, "first"));
        await storage.appendEntry(messageEntry("a", null, "second"));
        await storage.appendEntry(messageEntry("a", null, "second"));
        await storage.appendJson([JSON.stringify(messageEntry("b", null)), ...texts]);
        await storage.appendEntry(messageEntry("last", null));
        await lastHeard;
        expect(changes.map(({ added, conflicts }) => ({ added: idsOf(added), conflicts }))).toEqual([
          { added: ["a"], conflicts: undefined },
          { added: [], conflicts: [{ id: "a", jsons: texts.slice(0, 2) }] },
          { added: ["b"], conflicts: [{ id: "a", jsons: texts }] },
          { added: ["last"], conflicts: undefined },
        ]);
        expect(changes.every(({ remote }) => !remote)).toBe(true);
      }));

    test("[ST28] an entry that is none is refused as invalid_entry and nothing is written", () =>
      withSession(factory, async ({ storage }) => {
        const cyclic: Record<string, unknown> = {};
        cyclic.self = cyclic;
        await expectCode(storage.appendEntry(unknownEntry("a", null, { cyclic })), "invalid_entry");
        await expectCode(storage.appendEntry(unknownEntry("a", null, { big: 1n })), "invalid_entry");
        await expectCode(storage.appendEntry(messageEntry("", null)), "invalid_entry");
        await expectCode(storage.appendEntry({ type: "message" } as never), "invalid_entry");
        expect(await storage.getEntries()).toEqual([]);
      }));

    test("[ST22] subscribers hear of each change once, in order, when it is visible to reads", () =>
      withSession(factory, async ({ storage }) => {
        let stop = (): void => {};
        const added: SessionEntry[] = [];
        const reads: Promise<SessionEntry | undefined>[] = [];
        const remoteFlags = new Set<boolean>();
        const allHeard = new Promise<void>((resolve) => {
          stop = storage.subscribe((change) => {
            remoteFlags.add(change.remote);
            for (const entry of change.added) {
              added.push(entry);
              reads.push(storage.getEntry(entry.id));
            }
            if (added.length === 4) resolve();
          });
        });
        const stopped: SessionChange[] = [];
        storage.subscribe((change) => stopped.push(change))();
        await storage.appendEntry(messageEntry("a", null));
        await storage.appendJson([JSON.stringify(messageEntry("b", "a")), JSON.stringify(messageEntry("c", "b"))]);
        await storage.setLeafId("a");
        await allHeard;
        expect(added.map((entry) => (entry.type === "leaf" ? "leaf" : entry.id))).toEqual(["a", "b", "c", "leaf"]);
        expect(await Promise.all(reads)).toEqual(added);
        expect([...remoteFlags]).toEqual([false]);

        stop();
        const heardByOther = new Promise<void>((resolve) => storage.subscribe(() => resolve()));
        await storage.appendEntry(messageEntry("d", "a"));
        await heardByOther;
        expect(added).toHaveLength(4);
        expect(stopped).toEqual([]);
      }));

    test("[ST23] close waits for appends, may be called twice, and later appends are refused as closed", () =>
      withSession(factory, async ({ storage, reopen }) => {
        const appended = storage.appendEntry(messageEntry("a", null));
        await Promise.all([storage.close(), storage.close(), appended]);
        await storage.close();
        await expectCode(storage.appendEntry(messageEntry("b", "a")), "closed");
        await expectCode(storage.setLeafId("a"), "closed");
        await expectCode(storage.appendJson([JSON.stringify(messageEntry("b", "a"))]), "closed");
        expect(idsOf(await (await reopen()).getEntries())).toEqual(["a"]);
      }));
  });
}

async function readTexts(storage: SessionStorage, ids: readonly string[]): Promise<(string | undefined)[]> {
  return Promise.all(ids.map((id) => storage.getEntryJson(id)));
}
