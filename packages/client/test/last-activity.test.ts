import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { closeCodes, type Frame } from "@coppice/wire";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { openWorkspace } from "../src/workspace.ts";
import type { WebSocketConstructor, Workspace } from "../src/workspace-types.ts";
import { answerWithoutAcks, startRawRelay } from "./raw-relay.ts";

/** A device with one session, at a server that answers the question for heads as it is told. */
async function openAt(
  answerHeads: (rooms: readonly string[], answer: (frame: Frame) => void) => void,
): Promise<{ workspace: Workspace; relay: Awaited<ReturnType<typeof startRawRelay>> }> {
  const relay = await startRawRelay((frame, answer) => {
    if (frame.type === "headsRequest") answerHeads(frame.rooms, answer);
    else answerWithoutAcks(frame, answer);
  });
  const folder = mkdtempSync(join(tmpdir(), "coppice-activity-"));
  const store = await openLmdbStore({ path: folder });
  const workspace = await openWorkspace({
    store,
    relay: relay.url,
    workspaceKey: new Uint8Array(32).fill(4),
    device: { id: "device-a", name: "a" },
    webSocket: WebSocket as unknown as WebSocketConstructor,
  });
  onTestFinished(async () => {
    await workspace.close();
    await store.close();
    await relay.close();
    rmSync(folder, { recursive: true, force: true });
  });
  expect(await workspace.waitUntilSynced(30_000)).toBe(true);
  return { workspace, relay };
}

const until = (workspace: Workspace, isSo: () => boolean): Promise<void> =>
  new Promise((resolve) => {
    const check = (): void => {
      if (!isSo()) return;
      stop();
      resolve();
    };
    const stop = workspace.subscribe(check);
    check();
  });

test("[WS72] the list shows what the relay says, and asks for each session that is new in it", async () => {
  const updatedAtMs = 4_000_000_000_000;
  const { workspace, relay } = await openAt((rooms, answer) =>
    answer({
      type: "heads",
      heads: rooms.map((room) => ({
        room,
        state: "present",
        digest: new Uint8Array(8),
        records: 1,
        bytes: 1,
        updatedAtMs,
      })),
    }),
  );
  for (const count of [1, 2]) {
    const before = Date.now();
    const session = await workspace.createSession({ cwd: "/tmp" });
    await session.close();
    expect(before).toBeLessThan(updatedAtMs);
    await until(workspace, () => workspace.listSessions().every((listed) => listed.lastActivityAt === updatedAtMs));
    expect(workspace.listSessions()).toHaveLength(count);
  }
  const asked = relay.frames.flatMap(({ frame }) => (frame.type === "headsRequest" ? [frame.rooms.length] : []));
  expect(asked).toEqual([1, 1]);
});

test("[WS72] [WI40] a relay of an earlier version refuses the question once, and nothing comes of it", async () => {
  const { workspace, relay } = await openAt((_rooms, answer) =>
    answer({ type: "refused", code: closeCodes.unknownFrame, reason: "this relay does not know message 67/6" }),
  );
  const session = await workspace.createSession({ cwd: "/tmp" });
  const before = Date.now();
  await session.session.appendMessage({ role: "user", content: "hello" });
  await relay.waitForFrame(({ type }) => type === "headsRequest");
  // Frames come in order: when the list's connection has answered the next question, the refusal has been read.
  const questions = (): number =>
    relay.frames.filter(({ frame, connection }) => connection === 0 && frame.type === "syncStep1").length;
  const asked = questions();
  workspace.resync();
  await relay.waitForFrame(() => questions() > asked);
  workspace.refreshActivity();
  workspace.resync();
  await relay.waitForFrame(() => questions() > asked + 1);
  expect(relay.frames.filter(({ frame }) => frame.type === "headsRequest")).toHaveLength(1);
  expect(workspace.status()).toMatchObject({ relay: { state: "live" } });
  expect(workspace.status().notice).toBeUndefined();
  // What came while it is open here is known all the same.
  expect(workspace.listSessions()[0]?.lastActivityAt).toBeGreaterThanOrEqual(before);
});
