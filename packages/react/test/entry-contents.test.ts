import type { SessionChangeKind, SharedSession } from "@coppice/client";
import { describe, expect, it } from "vitest";
import { ChangeFeed } from "../src/change-feed.ts";
import { EntryContents } from "../src/entry-contents.ts";
import { useEntry } from "../src/index.ts";
import { openDevice, say } from "./devices.ts";
import { watchHooks } from "./mount.ts";

/** A session of `count` entries of so many characters, and which of them have been opened. */
async function openSession(count: number, chars: number) {
  const workspace = await openDevice("laptop");
  const session = await workspace.createSession({ id: "shared", cwd: "/" });
  const ids = Array.from({ length: count }, (_, index) => `e${index}`);
  await session.storage.appendBatch(
    ids.map((id) => JSON.stringify({ ...messageOf(id), message: { role: "user", content: "x".repeat(chars) } })),
  );
  const opened: string[] = [];
  const storage = Object.create(session.storage, {
    getEntryJson: {
      value: (id: string) => {
        opened.push(id);
        return session.storage.getEntryJson(id);
      },
    },
  });
  const contents = new EntryContents({ tree: session.tree, storage }, new ChangeFeed<SessionChangeKind>(session));
  return { workspace, session, ids, opened, contents };
}

const messageOf = (id: string) => ({
  type: "message",
  id,
  parentId: null,
  timestamp: "2026-01-01T00:00:00.000Z",
  message: { role: "user", content: id } as unknown,
});

const untilReady = (contents: EntryContents, id: string): Promise<() => void> =>
  new Promise((resolve) => {
    const stop = contents.subscribe(id, () => {
      if (contents.get(id).state !== "loading") resolve(stop);
    });
    if (contents.get(id).state !== "loading") resolve(stop);
  });

describe("contents on demand", () => {
  it("[RE20] what is let go of before its turn is not opened; what is shown again is opened once", async () => {
    const { contents, ids, opened } = await openSession(3, 10);
    const [first = "", second = "", third = ""] = ids;
    contents.subscribe(first, () => undefined)();
    const stop = await untilReady(contents, second);
    expect(opened).toEqual([second]);
    stop();
    const ready = contents.get(second);
    expect(ready).toMatchObject({ state: "ready", entry: { id: second } });
    await untilReady(contents, second);
    await untilReady(contents, third);
    expect(contents.get(second)).toBe(ready);
    expect(opened).toEqual([second, third]);
  });

  it("[RE21] components that wait together render once, and long contents leave turns for other work between", async () => {
    const { workspace, session, ids, contents, opened } = await openSession(60, 300_000);
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    await Promise.all(ids.map((id) => untilReady(contents, id)));
    clearInterval(timer);
    expect(opened).toEqual(ids);
    expect(turns).toBeGreaterThan(0);
    const small = [await say(session, "a"), await say(session, "b"), await say(session, "c")] as const;
    const watch = watchHooks(workspace, () => [
      useEntry(session, small[0]),
      useEntry(session, small[1]),
      useEntry(session, small[2]),
    ]);
    await watch.until((all) => all.every(({ state }) => state === "ready"));
    expect(watch.values.map((all) => all.map(({ state }) => state))).not.toContainEqual([
      "ready",
      "loading",
      "loading",
    ]);
  });

  it("[RE22] up to 4 MiB of what nobody shows are kept, the longest unseen given up first", async () => {
    const { ids, contents } = await openSession(6, 1024 * 1024);
    for (const id of ids) (await untilReady(contents, id))();
    expect(ids.map((id) => contents.get(id).state)).toEqual([...Array(3).fill("loading"), ...Array(3).fill("ready")]);
  });

  it("[RE23] an entry that has not arrived says so and is shown when it comes", async () => {
    const { workspace, session } = await openSession(1, 10);
    const watch = watchHooks(workspace, () => useEntry(session, "later"));
    expect(await watch.until(({ state }) => state === "unreadable")).toMatchObject({
      reason: expect.stringContaining("has not arrived"),
    });
    const json = JSON.stringify(messageOf("later"));
    await session.storage.appendJson([json]);
    expect(await watch.until(({ state }) => state === "ready")).toMatchObject({ json, entry: { id: "later" } });
  });

  it("[RE23] a content that does not open, and one that is another entry's, are unreadable with the reason", async () => {
    const { session, ids } = await openSession(2, 10);
    const [broken = "", exchanged = ""] = ids;
    const storage: SharedSession["storage"] = Object.create(session.storage, {
      getEntryJson: {
        value: (id: string) =>
          id === broken
            ? session.storage.getEntryJson(broken).then((json) => json?.slice(1))
            : Promise.resolve(JSON.stringify(messageOf("other"))),
      },
    });
    const contents = new EntryContents({ tree: session.tree, storage }, new ChangeFeed<SessionChangeKind>(session));
    for (const id of [broken, exchanged]) await untilReady(contents, id);
    expect(contents.get(broken)).toMatchObject({ state: "unreadable", reason: expect.stringContaining("is no entry") });
    expect(contents.get(exchanged)).toMatchObject({ state: "unreadable", reason: expect.stringContaining("another") });
  });
});
