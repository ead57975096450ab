import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openWorkspace } from "../src/workspace.ts";
import type { SharedSession, Workspace } from "../src/workspace-types.ts";

let folder: string;
const closings: (() => Promise<void>)[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "coppice-stand-"));
});
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

/** One more process of the home, as far as the store can tell. */
async function openHome(): Promise<Workspace> {
  const store = await openLmdbStore({ path: folder });
  closings.push(() => store.close());
  const workspace = await openWorkspace({
    store,
    device: { id: "device-1", name: "laptop" },
    workspaceKey: new Uint8Array(32).fill(3),
  });
  closings.push(() => workspace.close());
  return workspace;
}

const say = (session: SharedSession, content: string): Promise<string> =>
  session.session.appendMessage({ role: "user", content });

const parentOf = async (session: SharedSession, id: string): Promise<string | null | undefined> =>
  (await session.storage.getEntry(id))?.parentId;

it("[CL98] a replica that has written stands where another process left the device, and then moves by itself again", async () => {
  const staying = await (await openHome()).createSession({ id: "shared", cwd: "/" });
  const first = await say(staying, "one");
  const own = await say(staying, "two");
  const passing = await (await openHome()).openSession("shared");
  await passing.session.moveTo(first);
  await staying.standWithDevice();
  expect(await staying.storage.getLeafId()).toBe(first);
  const aside = await say(staying, "aside");
  expect(await parentOf(staying, aside)).toBe(first);
  await passing.standWithDevice();
  const further = await say(passing, "further");
  expect(await parentOf(passing, further)).toBe(aside);
  await staying.standWithDevice();
  expect(await parentOf(staying, await say(staying, "last"))).toBe(further);
  expect(own).not.toBe(first);
});

it("[CL98] what another process imported, and the place it took, count in a replica that was open before", async () => {
  const header = { type: "session", version: 3, id: "imported", timestamp: "2026-02-03T04:05:06.000Z", cwd: "/" };
  const line = (id: string, parentId: string | null): string =>
    JSON.stringify({
      type: "message",
      id,
      parentId,
      timestamp: header.timestamp,
      message: { role: "user", content: id },
    });
  const lister = await openHome();
  await lister.importSession({ headerJson: JSON.stringify(header), lines: [line("a", null)] });
  const staying = await (await openHome()).openSession("imported");
  const passing = await openHome();
  const { session } = await passing.importSession({
    headerJson: JSON.stringify(header),
    lines: [line("a", null), line("b", "a"), line("c", "a")],
  });
  await staying.standWithDevice();
  expect(await staying.storage.getLeafId()).toBe(await session.storage.getLeafId());
});

it("[CL98] an agent that runs keeps its place", async () => {
  const session = await (await openHome()).createSession({ id: "shared", cwd: "/" });
  await say(session, "one");
  session.setRunning(true);
  await expect(session.standWithDevice()).rejects.toMatchObject({ code: "invalid_session" });
});
