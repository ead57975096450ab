import type { SessionChange, SessionStorage } from "@coppice/core";
import { describe, expect, test } from "vitest";
import { idsOf, messageEntry, type SessionStorageFactory, withSession } from "./session-storage-under-test.ts";

/** The part of the contract about subscribers, beside that they hear everything. */
export function testSubscriptions(factory: SessionStorageFactory): void {
  describe("subscriptions", () => {
    test("[ST45] one call is one change, own ones are told as such, and changes keep the order of the calls", () =>
      withSession(factory, async ({ storage }) => {
        const changes: SessionChange[] = [];
        storage.subscribe((change) => changes.push(change));
        const lines = ["b", "c", "d"].map((id) => JSON.stringify(messageEntry(id, null)));
        await Promise.all([
          storage.appendEntry(messageEntry("a", null)),
          storage.appendJson(lines),
          storage.appendEntry(messageEntry("e", null)),
        ]);
        await untilHeard(storage);
        expect(changes.map(({ added }) => idsOf(added)).slice(0, 3)).toEqual([["a"], ["b", "c", "d"], ["e"]]);
        expect(changes.every(({ remote }) => !remote)).toBe(true);
      }));

    test("[ST45] a listener is never called inside a call of an append, nor inside another listener", () =>
      withSession(factory, async ({ storage }) => {
        let [depth, deepest, isAppending, hasAnswered] = [0, 0, false, false];
        let calls = 0;
        const appended: Promise<void>[] = [];
        const append = (id: string): void => {
          isAppending = true;
          appended.push(storage.appendEntry(messageEntry(id, null)));
          isAppending = false;
        };
        for (const name of ["first", "second"]) {
          storage.subscribe(() => {
            expect(isAppending).toBe(false);
            calls++;
            deepest = Math.max(deepest, ++depth);
            // What a listener writes is told after the change it was called for.
            if (!hasAnswered) append(`answer-of-${name}`);
            hasAnswered = true;
            depth--;
          });
        }
        append("a");
        await untilHeard(storage);
        await Promise.all(appended);
        await untilHeard(storage);
        expect(deepest).toBe(1);
        expect(calls).toBe(8);
        expect(idsOf(await storage.getEntries()).filter((id) => !id.startsWith("mark"))).toEqual([
          "a",
          "answer-of-first",
        ]);
      }));

    test("[ST46] who unsubscribes inside a listener hears no more, whoever it unsubscribes, and nobody else misses anything", () =>
      withSession(factory, async ({ storage }) => {
        const heard: string[] = [];
        const note = (name: string) => (change: SessionChange) => void heard.push(`${name}:${idsOf(change.added)}`);
        const stopSelf = storage.subscribe((change) => {
          note("once")(change);
          stopSelf();
          stopLater();
        });
        const stopLater = storage.subscribe(note("stopped"));
        storage.subscribe(note("kept"));
        await storage.appendEntry(messageEntry("a", null));
        await storage.appendEntry(messageEntry("b", "a"));
        await untilHeard(storage);
        expect(heard.slice(0, 3)).toEqual(["once:a", "kept:a", "kept:b"]);
        expect(heard.filter((line) => !line.startsWith("kept:"))).toEqual(["once:a"]);
      }));

    test("[ST46] who subscribes inside a listener hears what is written from then on, and nothing twice", () =>
      withSession(factory, async ({ storage }) => {
        const heard: string[] = [];
        let subscribed = 0;
        storage.subscribe(() => {
          const number = ++subscribed;
          storage.subscribe(({ added }) => void heard.push(`${number}:${idsOf(added)}`));
        });
        await storage.appendEntry(messageEntry("a", null));
        await untilHeard(storage);
        expect(heard.filter((line) => line.endsWith(":a"))).toEqual([]);
        await storage.appendEntry(messageEntry("b", "a"));
        await untilHeard(storage);
        expect(heard.filter((line) => line.endsWith(":b"))).toEqual(["1:b", "2:b"]);
      }));
  });
}

/** Appends once more and settles when that, and so everything before it, has been told to all who subscribed before. */
async function untilHeard(storage: SessionStorage): Promise<void> {
  const id = `mark-${await storage.createEntryId()}`;
  const heard = new Promise<void>((resolve) => {
    const stop = storage.subscribe(({ added }) => {
      if (!added.some((entry) => entry.id === id)) return;
      stop();
      resolve();
    });
  });
  await storage.appendEntry(messageEntry(id, null));
  await heard;
}
