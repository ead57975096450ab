import { type AwarenessState, encodeFrame, maxAwarenessFrameBytes } from "@coppice/wire";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import type { Awareness } from "y-protocols/awareness";
import * as Y from "yjs";
import type { RawClient } from "./raw-client.ts";
import { startRelay } from "./relay-fixture.ts";
import { openStockClient } from "./stock-client.ts";
import { Writer } from "./writer.ts";

/** Settles when this awareness shows what is wanted. */
async function shows(awareness: Awareness, isWanted: (states: Awareness["states"]) => boolean): Promise<void> {
  while (!isWanted(awareness.states)) await new Promise<void>((resolve) => awareness.once("change", () => resolve()));
}

const cursor = (client: number, clock: number, state: unknown = { at: clock }): AwarenessState => ({
  client,
  clock,
  state: JSON.stringify(state),
});
const showCursor = (client: RawClient, ...states: AwarenessState[]): void => client.send({ type: "awareness", states });
const takeCursors = async (client: RawClient): Promise<readonly AwarenessState[]> =>
  (await client.take("awareness", ({ states }) => states.length > 0)).states;

test("[RL21] stock clients see each other's cursors, and the echoes they send are dropped without an answer", async () => {
  const { stock, relay } = await startRelay();
  const [a, b] = [stock("room"), stock("room")];
  await Promise.all([a.synced(), b.synced()]);
  a.provider.awareness.setLocalState({ name: "a" });
  b.provider.awareness.setLocalState({ name: "b" });
  await shows(b.provider.awareness, (states) => states.get(a.doc.clientID)?.name === "a");
  await shows(a.provider.awareness, (states) => states.get(b.doc.clientID)?.name === "b");
  // The echo of a's cursor left b before this record did.
  b.push(1);
  await a.hasRecords(1);
  expect(relay.readStats().droppedCursors).toBeGreaterThan(0);
  expect(a.provider.wsconnected && b.provider.wsconnected).toBe(true);
});

test("[RL21] nobody can remove or change another's cursor; the attempts are counted (F77, F78)", async () => {
  const { raw, relay } = await startRelay();
  const [a, b, c] = [await raw("room"), await raw("room"), await raw("room")];
  showCursor(b, cursor(2, 1));
  await takeCursors(c);
  showCursor(a, cursor(1, 1), cursor(2, 50, null), cursor(2, 51, { forged: true }), cursor(3, 1));
  expect(await takeCursors(c)).toEqual([cursor(1, 1)]);
  showCursor(a, cursor(2, 60, null));
  await a.barrier();
  expect(relay.readStats().droppedCursors).toBe(4);
  c.send({ type: "queryAwareness" });
  expect((await takeCursors(c)).toSorted((left, right) => left.client - right.client)).toEqual([
    cursor(1, 1),
    cursor(2, 1),
  ]);
});

test("[RL21] a connection whose first word is that somebody left does not become that somebody (F77)", async () => {
  const { raw } = await startRelay();
  const [a, b, c] = [await raw("room"), await raw("room"), await raw("room")];
  showCursor(a, cursor(2, 50, null));
  await a.barrier();
  showCursor(b, cursor(2, 1));
  expect(await takeCursors(c)).toEqual([cursor(2, 1)]);
  showCursor(a, cursor(7, 1));
  expect(await takeCursors(c)).toEqual([cursor(7, 1)]);
});

test("[RL22] a cursor goes when its connection closes, however it closes", async () => {
  const { raw } = await startRelay();
  const watcher = await raw("room");
  for (const end of ["close", "terminate"] as const) {
    const client = await raw("room");
    showCursor(client, cursor(2, 100));
    const [shown] = await takeCursors(watcher);
    client.socket[end]();
    const [gone] = await takeCursors(watcher);
    expect(gone).toEqual({ client: 2, clock: (shown?.clock ?? 0) + 1, state: "null" });
  }
});

test("[RL22] a stock client that disconnects and connects again is seen at once, though its clock did not move (F69)", async () => {
  const { stock } = await startRelay();
  const [a, b] = [stock("room"), stock("room")];
  await Promise.all([a.synced(), b.synced()]);
  a.provider.awareness.setLocalState({ name: "a" });
  const isShown = (states: Awareness["states"]): boolean => states.has(a.doc.clientID);
  await shows(b.provider.awareness, isShown);
  for (let round = 0; round < 3; round += 1) {
    const clock = a.provider.awareness.meta.get(a.doc.clientID)?.clock;
    a.provider.disconnect();
    await shows(b.provider.awareness, (states) => !isShown(states));
    a.provider.connect();
    await shows(b.provider.awareness, isShown);
    expect(a.provider.awareness.meta.get(a.doc.clientID)?.clock).toBe(clock);
  }
});

test("[RL23] a cursor that is claimed while its old connection is half dead moves to the new one", async () => {
  const { raw } = await startRelay({ claimPingTimeoutMs: 20 });
  const [old, watcher] = [await raw("room"), await raw("room")];
  showCursor(old, cursor(2, 1));
  await takeCursors(watcher);
  // Paused, it answers no ping: what a laptop that fell asleep looks like.
  old.socket.pause();
  const fresh = await raw("room");
  showCursor(fresh, cursor(2, 1, { fresh: true }));
  expect(await takeCursors(watcher)).toEqual([{ client: 2, clock: 2, state: "null" }]);
  showCursor(fresh, cursor(2, 2, { fresh: true }));
  expect(await takeCursors(watcher)).toEqual([{ client: 2, clock: 3, state: '{"fresh":true}' }]);
});

test("[RL23] a connection that is alive keeps its cursor, whoever claims it", async () => {
  const { raw } = await startRelay({ claimPingTimeoutMs: 20 });
  const [owner, thief] = [await raw("room"), await raw("room")];
  showCursor(owner, cursor(2, 1));
  await owner.barrier();
  const pinged = new Promise<void>((resolve) => owner.socket.once("ping", () => resolve()));
  showCursor(thief, cursor(2, 9));
  await pinged;
  const watcher = await raw("room");
  watcher.send({ type: "syncStep1", stateVector: new Map() });
  expect(await takeCursors(watcher)).toEqual([cursor(2, 1)]);
  showCursor(owner, cursor(2, 2));
  expect(await takeCursors(watcher)).toEqual([cursor(2, 2)]);
});

test("[RL24] a newcomer gets the cursors after the records, and a question for cursors is always answered", async () => {
  const { raw, follower } = await startRelay();
  const reader = await raw("room");
  reader.send({ type: "queryAwareness" });
  expect((await reader.take("awareness")).states).toEqual([]);
  const writer = new Writer(5);
  const source = await follower("room");
  source.sendUpdate(writer.push([1]));
  await source.acknowledged(5, 1);
  showCursor(source, cursor(5, 3));
  await takeCursors(reader);
  const newcomer = await raw("room");
  newcomer.send({ type: "syncStep1", stateVector: new Map() });
  expect(await takeCursors(newcomer)).toEqual([cursor(5, 3)]);
  expect(newcomer.received.map(({ type }) => type)).toEqual(["syncStep2", "syncStep1", "awareness"]);
});

test("[RL24] a cursor that moves faster than it can be shown is shown as it is, not as it was", async () => {
  const { raw } = await startRelay();
  const [mover, watcher] = [await raw("room"), await raw("room")];
  const moves = 2_000;
  for (let clock = 1; clock <= moves; clock += 1) showCursor(mover, cursor(5, clock));
  let last = 0;
  while (last < moves) last = JSON.parse((await takeCursors(watcher))[0]?.state ?? "{}").at;
  expect(watcher.received.length).toBeLessThan(moves / 2);
});

test("[RL24] cursors are never stored (F38)", async () => {
  const { raw, store } = await startRelay();
  const client = await raw("room");
  for (let clock = 0; clock < 200; clock += 1) showCursor(client, cursor(5, clock));
  await client.barrier();
  expect(store.logs.get("room")).toEqual([]);
});

test("[RL24] many cursors come in frames within the limit, and a cursor above it is dropped with a notice", async () => {
  const { raw, relay } = await startRelay();
  const count = 40;
  for (let client = 1; client <= count; client += 1) {
    const member = await raw("room");
    showCursor(member, cursor(client, 1, { text: "x".repeat(1_000) }));
    await member.barrier();
  }
  const reader = await raw("room");
  reader.send({ type: "queryAwareness" });
  const seen = new Set<number>();
  while (seen.size < count) for (const { client } of await takeCursors(reader)) seen.add(client);
  // Every frame was parsed by the strict parser, which knows the limit.
  expect(reader.received.filter(({ type }) => type === "awareness").length).toBeGreaterThan(2);
  await reader.barrier();
  showCursor(reader, cursor(99, 1, { text: "x".repeat(maxAwarenessFrameBytes) }));
  expect((await reader.take("refused")).reason).toContain("16 KiB");
  expect(relay.readStats().droppedCursors).toBe(1);
});

test("[RL25] a silent connection hears an empty awareness frame from time to time", async () => {
  const { raw } = await startRelay({ keepAliveIntervalMs: 5 });
  const client = await raw("room");
  for (let i = 0; i < 3; i += 1) expect((await client.take("awareness")).states).toEqual([]);
});

test("[RL25] a connection that does not answer pings is ended, one that does stays", async () => {
  const { raw, relay } = await startRelay({ pingIntervalMs: 30 });
  const [dead, alive] = [await raw("room"), await raw("room")];
  showCursor(dead, cursor(2, 1));
  await takeCursors(alive);
  dead.socket.pause();
  expect((await takeCursors(alive))[0]).toMatchObject({ client: 2, state: "null" });
  for (let i = 0; i < 5; i += 1) await new Promise<void>((resolve) => alive.socket.once("ping", () => resolve()));
  expect(alive.socket.readyState).toBe(alive.socket.OPEN);
  expect(relay.readStats().connections).toBe(1);
});

test("[RL25] a connection that is still sending is not ended, though its pong has to wait", async () => {
  const { relay } = await startRelay({ pingIntervalMs: 30 });
  // A large record on a slow line holds the pongs up; here they never come, and something trickles in at every ping.
  const socket = new WebSocket(`${relay.url}/room`, { autoPong: false });
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  for (let pings = 0; pings < 6; pings += 1) {
    await new Promise<void>((resolve) => socket.once("ping", () => resolve()));
    socket.send(encodeFrame({ type: "queryAwareness" }));
  }
  expect(socket.readyState).toBe(WebSocket.OPEN);
  await ended;
});

test("[RL22] a stock client is seen from its first state on, and one destroyed without a word is gone for the others", async () => {
  const { stock, relay } = await startRelay();
  const watcher = stock("room");
  await watcher.synced();
  const doc = new Y.Doc();
  const leaver = openStockClient(relay.url, "room", doc);
  await shows(watcher.provider.awareness, (states) => states.has(doc.clientID));
  (leaver.provider.ws as unknown as { terminate(): void }).terminate();
  leaver.destroy();
  await shows(watcher.provider.awareness, (states) => !states.has(doc.clientID));
});
