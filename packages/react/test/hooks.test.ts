import type { SharedSession, SyncStatus, Workspace } from "@coppice/client";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { describe, expect, expectTypeOf, it } from "vitest";
import {
  useBranch,
  useCursors,
  useDevices,
  useLog,
  useSession,
  useSessions,
  useSyncStatus,
  useTree,
  useWorkspace,
} from "../src/index.ts";
import { openDevice, say } from "./devices.ts";
import { watchHooks } from "./mount.ts";

const WithoutProvider = (): null => {
  useWorkspace();
  return null;
};

const idsOf = (nodes: readonly { readonly id: string }[]): string[] => nodes.map(({ id }) => id);

async function openSession(): Promise<{ workspace: Workspace; session: SharedSession; first: string; second: string }> {
  const workspace = await openDevice("laptop");
  const session = await workspace.createSession({ id: "shared", cwd: "/" });
  const first = await say(session, "one");
  const second = await say(session, "two");
  return { workspace, session, first, second };
}

describe("what hooks give", () => {
  it("[RE1] the workspace of the provider above; without one a hook throws", async () => {
    const workspace = await openDevice("laptop");
    const watch = watchHooks(workspace, useWorkspace);
    expect(await watch.until(() => true)).toBe(workspace);
    expect(() => renderToString(createElement(WithoutProvider))).toThrow("needs a WorkspaceProvider above it");
  });

  it("[RE2] a component renders again only for what it looks at, and keeps the objects that say the same", async () => {
    const { workspace, session, first, second } = await openSession();
    await (await workspace.createSession({ id: "untouched", cwd: "/" })).close();
    const looks = {
      tree: watchHooks(workspace, () => useTree(session)),
      own: watchHooks(workspace, () => useBranch(session)),
      fixed: watchHooks(workspace, () => useBranch(session, second)),
      cursors: watchHooks(workspace, () => useCursors(session)),
      devices: watchHooks(workspace, useDevices),
      sessions: watchHooks(workspace, () => useSessions()),
      log: watchHooks(workspace, () => useLog(session)),
    };
    for (const watch of Object.values(looks)) await watch.until(() => true);
    await looks.cursors.until((cursors) => cursors[0]?.leafId === second);
    const versionBefore = looks.tree.last.version;
    const before = Object.fromEntries(
      Object.entries(looks).map(([name, { commits, last }]) => [name, { commits, last }]),
    );

    await session.session.moveTo(first);
    const aside = await say(session, "aside");
    await looks.log.until((nodes) => nodes.at(-1)?.id === aside);
    await looks.cursors.until((cursors) => cursors[0]?.leafId === aside);
    expect(idsOf(looks.own.last.nodes)).toEqual([first, aside]);
    expect(looks.own.last.leafId).toBe(aside);
    expect(looks.tree.last.version).toBeGreaterThan(versionBefore);
    // Nobody who looks elsewhere has rendered, and what they have is what they had.
    for (const name of ["fixed", "devices", "sessions"] as const) {
      expect([name, looks[name].commits]).toEqual([name, before[name]?.commits]);
      expect(looks[name].last).toBe(before[name]?.last);
    }

    const untouched = looks.sessions.last.find(({ id }) => id === "untouched");
    await workspace.createSession({ id: "other", cwd: "/" });
    const three = await looks.sessions.until((sessions) => sessions.length === 3);
    expect(three.find(({ id }) => id === "untouched")).toBe(untouched);
  });

  it("[RE3] a hundred entries in one turn are one render, for all hooks of a component together", async () => {
    const { workspace, session } = await openSession();
    const watch = watchHooks(workspace, () => [useTree(session), useBranch(session), useLog(session)] as const);
    await watch.until(() => true);
    const { commits } = watch;
    const [, { leafId }] = watch.last;
    const lines = Array.from({ length: 100 }, (_, index) =>
      JSON.stringify({
        type: "message",
        id: `e${index}`,
        parentId: index === 0 ? leafId : `e${index - 1}`,
        timestamp: "2026-01-01T00:00:00.000Z",
        message: { role: "user", content: String(index) },
      }),
    );
    await Promise.all(lines.map((line) => session.storage.appendJson([line])));
    await watch.until(([, { nodes }]) => nodes.length === 102);
    // The appends settle in the order of the disk, which may have taken more than one turn.
    expect(watch.commits - commits).toBeLessThan(10);
    const settledCommits = watch.commits;
    await session.storage.appendBatch(lines.map((line) => line.replaceAll('"e', '"f')));
    await watch.until(([, , log]) => log.length === 202);
    expect(watch.commits).toBe(settledCommits + 1);
  });

  it("[RE4] the list, the devices and the status, as the workspace says them", async () => {
    const workspace = await openDevice("laptop");
    const all = watchHooks(workspace, () => useSessions({ archived: false }));
    const devices = watchHooks(workspace, useDevices);
    const status = watchHooks(workspace, () => useSyncStatus(workspace));
    expect(await all.until(() => true)).toEqual([]);
    const session = await workspace.createSession({ id: "shared", cwd: "/", name: "Flaky test" });
    const own = watchHooks(workspace, () => useSyncStatus(session));
    await all.until(([listed]) => listed?.name === "Flaky test");
    await workspace.archiveSession("shared");
    await all.until((sessions) => sessions.length === 0);
    await workspace.renameDevice("desk");
    expect(await devices.until(([device]) => device?.name === "desk")).toMatchObject([{ isThis: true }]);
    await own.until(({ pending }) => pending === session.status().pending);
    await status.until(({ pending }) => pending === workspace.overallStatus().pending);
    expectTypeOf(status.last).toEqualTypeOf<SyncStatus>();
  });

  it("[RE5] the tree's version grows with each change, and the log has the leaf records too", async () => {
    const { workspace, session, first, second } = await openSession();
    const tree = watchHooks(workspace, () => useTree(session));
    const log = watchHooks(workspace, () => useLog(session));
    await tree.until(({ leafId }) => leafId === second);
    const { version } = tree.last;
    await session.session.moveTo(first);
    const moved = await tree.until(({ leafId }) => leafId === first);
    expect(moved.version).toBeGreaterThan(version);
    expect(moved.tree).toBe(session.tree);
    expect(moved.problems).toEqual([]);
    expect((await log.until((nodes) => nodes.length === 3)).map(({ type }) => type)).toEqual([
      "message",
      "message",
      "leaf",
    ]);
  });

  it("[RE6] branches of any entry, and of none", async () => {
    const { workspace, session, first, second } = await openSession();
    const line = (id: string, parentId: string): string =>
      JSON.stringify({
        type: "message",
        id,
        parentId,
        timestamp: "2026-01-01",
        message: { role: "user", content: id },
      });
    await session.storage.appendJson([line("orphan", "lost"), line("below", "orphan")]);
    const watch = watchHooks(workspace, () => ({
      second: useBranch(session, second),
      none: useBranch(session, null),
      unknown: useBranch(session, "nobody"),
      below: useBranch(session, "below"),
    }));
    const branches = await watch.until(() => true);
    expect(idsOf(branches.second.nodes)).toEqual([first, second]);
    expect(branches.none).toEqual({ leafId: null, nodes: [] });
    expect(branches.unknown).toEqual({ leafId: "nobody", nodes: [], missingParentId: "nobody" });
    expect(branches.below).toMatchObject({ missingParentId: "lost" });
    expect(idsOf(branches.below.nodes)).toEqual(["orphan", "below"]);
    await session.storage.appendJson([line("lost", "below")]);
    const circle = await watch.until(({ below }) => below.isCircular === true);
    expect(idsOf(circle.below.nodes).sort()).toEqual(["below", "lost", "orphan"]);
    expect(circle.second).toBe(branches.second);
  });

  it("[RE7] cursors move, and entries that move none are not heard of", async () => {
    const { workspace, session, second } = await openSession();
    const cursors = watchHooks(workspace, () => useCursors(session));
    const [own] = await cursors.until(([cursor]) => cursor?.leafId === second);
    expect(own).toMatchObject({ self: true, deviceName: "laptop" });
    session.setRunning(true);
    expect(await cursors.until(([cursor]) => cursor?.running === true)).toHaveLength(1);
  });

  it("[RE10] components share one open session, which is opened when the first of them is mounted", async () => {
    const { workspace, session } = await openSession();
    await session.close();
    const first = watchHooks(workspace, () => useSession("shared"));
    const second = watchHooks(workspace, () => useSession("shared"));
    const states = [await first.until(isOpen), await second.until(isOpen)];
    expect(states[0]).toBe(states[1]);
    expect(first.values[0]).toEqual({ state: "opening" });
  });
});

const isOpen = ({ state }: { readonly state: string }): boolean => state === "open";
