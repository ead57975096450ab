import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openWorkspace } from "../src/workspace.ts";
import type { SessionChangeKind, SharedSession, Workspace } from "../src/workspace-types.ts";

let folder: string;
let workspace: Workspace;
const closings: (() => Promise<void>)[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "coppice-tree-"));
  workspace = await openHome();
});
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

/** One more process of the home, as far as the store can tell. */
async function openHome(): Promise<Workspace> {
  const store = await openLmdbStore({ path: folder });
  closings.push(() => store.close());
  const opened = await openWorkspace({
    store,
    device: { id: "device-1", name: "laptop" },
    workspaceKey: new Uint8Array(32).fill(3),
  });
  closings.push(() => opened.close());
  return opened;
}

const say = (session: SharedSession, content: string): Promise<string> =>
  session.session.appendMessage({ role: "user", content });

/** What a session tells from now on. */
function hear(session: SharedSession): SessionChangeKind[] {
  const heard: SessionChangeKind[] = [];
  session.subscribe((change) => heard.push(change));
  return heard;
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("[CL110] an open session shows its tree and what it looks at, at once and always those of now", async () => {
  const session = await workspace.createSession({ id: "shared", cwd: "/" });
  const { tree } = session;
  expect([tree.size, session.getLeafId()]).toEqual([0, null]);
  const first = await say(session, "one");
  expect(session.getLeafId()).toBe(first);
  expect(tree.get(first)).toMatchObject({ type: "message", role: "user", deviceId: "device-1", parentId: null });
  expect(session.tree).toBe(tree);
  const second = await say(session, "two");
  await session.session.moveTo(first);
  expect(session.getLeafId()).toBe(first);
  expect(tree.nodes().map(({ type }) => type)).toEqual(["message", "message", "leaf"]);
  expect(tree.pathToRoot(second).map(({ id }) => id)).toEqual([first, second]);
});

it("[CL111] appends and moves tell entries and leaf; a label moves no leaf back; after close nothing is told", async () => {
  const session = await workspace.createSession({ id: "shared", cwd: "/" });
  const first = await say(session, "one");
  await settled();
  const heard = hear(session);
  const leaves: (string | null | undefined)[] = [];
  session.subscribe((change) => {
    if (change === "leaf") leaves.push(session.getLeafId());
  });
  const second = await say(session, "two");
  await session.session.moveTo(first);
  await settled();
  expect(leaves).toEqual([second, first]);
  expect(heard.filter((change) => change === "entries")).toHaveLength(2);
  expect(session.isClosed).toBe(false);
  const closing = session.close();
  expect(session.isClosed).toBe(true);
  await closing;
  heard.length = 0;
  await expect(say(session, "three")).rejects.toMatchObject({ code: "closed" });
  await settled();
  expect(heard).toEqual([]);
});

it("[CL111] what another process of the device wrote tells a new leaf, also when it is only taken in by standing there", async () => {
  const staying = await workspace.createSession({ id: "shared", cwd: "/" });
  const first = await say(staying, "one");
  await say(staying, "two");
  const passing = await (await openHome()).openSession("shared");
  await passing.session.moveTo(first);
  const heard = hear(staying);
  await staying.standWithDevice();
  expect(staying.getLeafId()).toBe(first);
  expect(heard.filter((change) => change === "leaf")).toHaveLength(1);
});

it("[CL111] a device that goes by another name tells cursors", async () => {
  const session = await workspace.createSession({ id: "shared", cwd: "/" });
  const heard = hear(session);
  await workspace.renameDevice("desk");
  expect(heard).toContain("cursors");
  expect(session.getCursors()).toMatchObject([{ deviceName: "desk" }]);
});
