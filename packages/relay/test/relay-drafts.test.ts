import { closeCodes, maxDraftBytes } from "@coppice/wire";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { startRelay } from "./relay-fixture.ts";

const sealed = (...bytes: number[]): Uint8Array => Uint8Array.from(bytes);

test("[RL61] a draft goes to the Coppice clients that follow the room, as it is, and to nobody else", async () => {
  const { follower, raw, store } = await startRelay();
  const [sender, reader, stock, elsewhere, early] = [
    await follower("room"),
    await follower("room"),
    await follower("room"),
    await follower("other"),
    await raw("room"),
  ];
  // A client has shown that it is one of ours by any frame of message 67.
  for (const client of [reader, elsewhere, early]) await client.barrier();
  sender.send({ type: "draft", sealed: sealed(1, 2, 3) });
  sender.send({ type: "draft", sealed: sealed(4) });
  expect((await reader.take("draft")).sealed).toEqual(sealed(1, 2, 3));
  expect((await reader.take("draft")).sealed).toEqual(sealed(4));
  for (const client of [sender, stock, elsewhere, early]) {
    await client.barrier();
    expect(client.received.map(({ type }) => type)).not.toContain("draft");
  }
  // A newcomer gets no old draft, and none is kept.
  const late = await follower("room");
  await late.barrier();
  expect(late.received.map(({ type }) => type)).not.toContain("draft");
  expect(store.logs.get("room")).toEqual([]);
});

test("[RL61] a draft above its limit is dropped with a notice and the connection stays open", async () => {
  const { follower, relay } = await startRelay();
  const [sender, reader] = [await follower("room"), await follower("room")];
  for (const client of [sender, reader]) await client.barrier();
  sender.send({ type: "draft", sealed: new Uint8Array(maxDraftBytes + 1) });
  expect(await sender.take("refused")).toMatchObject({ code: closeCodes.frameTooBig });
  sender.send({ type: "draft", sealed: new Uint8Array(maxDraftBytes) });
  expect((await reader.take("draft")).sealed.length).toBe(maxDraftBytes);
  expect(sender.socket.readyState).toBe(WebSocket.OPEN);
  expect(relay.readStats().droppedDrafts).toBe(1);
});

test("[RL62] a connection that sends too many drafts loses some, and nothing else", async () => {
  const { follower, relay } = await startRelay({ maxDraftsPerSecond: 0.001 });
  const [sender, reader] = [await follower("room"), await follower("room")];
  await reader.barrier();
  for (let i = 0; i < 20; i += 1) sender.send({ type: "draft", sealed: sealed(i) });
  await sender.barrier();
  await reader.barrier();
  expect(reader.received.filter(({ type }) => type === "draft")).toEqual([]);
  expect(relay.readStats().droppedDrafts).toBe(20);
});

test("[RL62] a slow reader misses drafts instead of having them wait", async () => {
  const { follower, relay } = await startRelay({ maxDraftBytesPerSecond: 1e9, maxDraftsPerSecond: 1e9 });
  const [sender, slow, fast] = [await follower("room"), await follower("room"), await follower("room")];
  for (const client of [slow, fast]) await client.barrier();
  slow.socket.pause();
  for (let i = 0; i < 400; i += 1) {
    sender.send({ type: "draft", sealed: new Uint8Array(maxDraftBytes) });
    await fast.take("draft");
  }
  const { droppedDrafts, largestBacklogBytes } = relay.readStats();
  expect(droppedDrafts).toBeGreaterThan(0);
  expect(largestBacklogBytes).toBeLessThan(128 * 1024 + 2 * maxDraftBytes);
});
