import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { closeCodes, encodeFrame, maxFrameBytes, protocolVersion } from "@coppice/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { type RelayFixture, startRelay } from "./relay-fixture.ts";
import { Writer } from "./writer.ts";

/** A pair of clients in another room that must not notice anything. */
async function openBystanders(fixture: RelayFixture) {
  const [a, b] = [await fixture.follower("other"), await fixture.follower("other")];
  const writer = new Writer(1);
  return async (): Promise<void> => {
    a.sendUpdate(writer.push([1]));
    await b.take("update");
  };
}

/** A websocket connection to write bytes to that no library would. */
async function upgradeByHand({ relay }: RelayFixture): Promise<Socket> {
  const socket = connect(relay.port, "127.0.0.1");
  socket.write(
    `GET /room HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
  );
  await once(socket, "data");
  return socket;
}

const badMessages: ReadonlyArray<[string, string | Uint8Array, number]> = [
  ["a text frame", "ping", closeCodes.textFrame],
  ["an empty text frame", "", closeCodes.textFrame],
  ["an empty frame", new Uint8Array(), closeCodes.badFrame],
  ["one byte that promises more", new Uint8Array([0]), closeCodes.badFrame],
  ["a byte behind a frame", new Uint8Array([3, 0]), closeCodes.badFrame],
  ["an unknown message number", new Uint8Array([99, 1, 2]), closeCodes.unknownFrame],
  ["an ack, which only a relay sends", new Uint8Array([67, 1, 0]), closeCodes.unknownFrame],
  ["a permission denied, which only a relay sends", new Uint8Array([2, 0, 0]), closeCodes.unknownFrame],
];

for (const [name, message, code] of badMessages) {
  test(`[RL7] ${name} closes that connection with ${code}, nobody else notices (F40)`, async () => {
    const fixture = await startRelay();
    const others = await openBystanders(fixture);
    const offender = await fixture.raw("room");
    offender.socket.send(message);
    expect((await offender.closed).code).toBe(code);
    await others();
  });
}

test("[RL7] ten thousand random frames close their connections and nothing else (F40, F42)", async () => {
  const fixture = await startRelay();
  const others = await openBystanders(fixture);
  const frames = fc.sample(fc.uint8Array({ minLength: 1, maxLength: 60 }), { numRuns: 10_000, seed: 40 });
  let closedCount = 0;
  let sent = 0;
  while (sent < frames.length) {
    const client = await fixture.raw("room");
    const batch = frames.slice(sent, sent + 500);
    for (const frame of batch) client.socket.send(frame);
    sent += batch.length;
    const { code } = await client.closed;
    expect(code).toBeGreaterThanOrEqual(4400);
    expect(code).toBeLessThan(4500);
    closedCount += 1;
  }
  expect(closedCount).toBe(20);
  await others();
});

test("[RL7] updates with flipped bits or cut ends never hold up the others (F42)", async () => {
  const fixture = await startRelay();
  const others = await openBystanders(fixture);
  const writer = new Writer(9);
  for (let i = 0; i < 20; i += 1) writer.push([i, i, i]);
  const whole = writer.state();
  const flips = fc.sample(fc.tuple(fc.nat(), fc.nat({ max: 7 }), fc.boolean()), { numRuns: 100, seed: 42 });
  let refused = 0;
  for (const [at, bit, isCut] of flips) {
    const update = whole.slice();
    const index = at % whole.length;
    update[index] = (update[index] as number) ^ (1 << bit);
    const client = await fixture.raw(`room-${index}-${bit}`);
    client.sendUpdate(isCut ? update.subarray(0, index) : update);
    client.send({ type: "queryAwareness" });
    const outcome = await Promise.race([
      client.closed.then(() => "closed"),
      client.take("awareness").then(() => "open"),
    ]).catch(() => "closed");
    if (outcome === "closed") refused += 1;
  }
  expect(refused).toBeGreaterThan(10);
  await others();
});

test("[RL7] a message above 32 MiB closes its connection with 4413 before it is read", async () => {
  const fixture = await startRelay();
  const others = await openBystanders(fixture);
  const offender = await fixture.raw("room");
  offender.socket.send(new Uint8Array(maxFrameBytes + 1));
  expect((await offender.closed).code).toBe(closeCodes.frameTooBig);
  await others();
});

test("[RL7] bytes that break the websocket protocol close the connection for good, a reset in the middle of a frame is nothing (F46)", async () => {
  const fixture = await startRelay();
  const others = await openBystanders(fixture);
  const upgrade = () => upgradeByHand(fixture);
  // An unmasked frame with reserved bits: both forbidden to clients.
  const broken = await upgrade();
  broken.write(Buffer.from([0xf2, 0x01, 0x00]));
  const [close] = (await once(broken, "data")) as [Buffer];
  expect(close.subarray(0, 4)).toEqual(
    Buffer.from([0x88, close[1] as number, closeCodes.badFrame >> 8, closeCodes.badFrame & 0xff]),
  );
  broken.destroy();

  const reset = await upgrade();
  reset.write(Buffer.from([0x82, 0xfe, 0x10, 0x00, 1, 2, 3, 4, 5]));
  reset.resetAndDestroy();
  await others();
});

test("[RL7] a client that vanishes in the middle of everything leaves no trace", async () => {
  const fixture = await startRelay();
  const others = await openBystanders(fixture);
  for (let i = 0; i < 20; i += 1) {
    const client = await fixture.raw("room");
    client.send({ type: "syncStep1", stateVector: new Map() });
    client.socket.terminate();
  }
  await others();
  while (fixture.relay.readStats().connections > 2) await new Promise((resolve) => setImmediate(resolve));
  expect(fixture.relay.readStats().connections).toBe(2);
});

test("[RL6] while a room loads, the relay stops reading from a connection that sends more than may wait", async () => {
  const fixture = await startRelay({ maxQueuedBytes: 100_000 });
  let letOpen = (): void => {};
  const opened = new Promise<void>((resolve) => {
    letOpen = resolve;
  });
  fixture.store.hooks.beforeOpen = (log) => (log === "room" ? opened : Promise.resolve());
  const other = await fixture.raw("other");
  const sender = await fixture.raw("room");
  const writer = new Writer(9);
  const frame = encodeFrame({ type: "update", update: writer.push(new Uint8Array(1_000_000)) });
  for (let i = 0; i < 60; i += 1) sender.socket.send(frame);
  // The relay serves both connections in turn: while it answers here, it would read there.
  for (let i = 0; i < 200; i += 1) await other.barrier();
  // What neither the relay nor the kernel's buffers take stays at the sender.
  expect(sender.socket.bufferedAmount).toBeGreaterThan(10_000_000);
  letOpen();
  await sender.acknowledged(9, 1);
  expect(sender.socket.bufferedAmount).toBe(0);
});

test("[RL6] while the disk is slow, a sender is held back instead of filling memory", async () => {
  const fixture = await startRelay({ maxQueuedBytes: 100_000 });
  let letCommit = (): void => {};
  const committing = new Promise<void>((resolve) => {
    letCommit = resolve;
  });
  fixture.store.hooks.beforeCommit = () => committing;
  const [other, sender] = [await fixture.raw("other"), await fixture.raw("room")];
  const writer = new Writer(9);
  for (let i = 0; i < 60; i += 1) sender.sendUpdate(writer.push(new Uint8Array(1_000_000)));
  for (let i = 0; i < 200; i += 1) await other.barrier();
  expect(sender.socket.bufferedAmount).toBeGreaterThan(10_000_000);
  letCommit();
  await sender.acknowledged(9, 60);
  expect(sender.socket.bufferedAmount).toBe(0);
});

test("[RL26] what a later version adds is answered with a notice, and the connection stays open", async () => {
  const fixture = await startRelay();
  const client = await fixture.raw("room");
  client.send({ type: "unknownExtension", subType: 9, payload: new Uint8Array([1]) });
  expect(await client.take("refused")).toMatchObject({ code: closeCodes.unknownFrame });
  client.send({ type: "ackRequest", version: protocolVersion + 1, clients: [] });
  expect((await client.take("refused")).reason).toContain(`version ${protocolVersion}`);
  client.send({ type: "ackRequest", version: 1, clients: Array.from({ length: 5_000 }, (_, index) => index) });
  expect(await client.take("refused")).toMatchObject({ code: closeCodes.tooManyClients });
  expect(client.socket.readyState).toBe(WebSocket.OPEN);
});

test("[RL28] a connection above the limit is told to come later", async () => {
  const fixture = await startRelay({ maxConnections: 2 });
  await fixture.follower("room");
  await fixture.follower("room");
  const third = await fixture.raw("room");
  expect((await third.closed).code).toBe(closeCodes.busy);
});

test("[RL90] of messages that never end only so much is held; who holds most goes first, and honest senders go on", async () => {
  const fixture = await startRelay({ maxUnfinishedBytes: 3_000_000 });
  const others = await openBystanders(fixture);
  const begin = async (bytes: number): Promise<Socket> => {
    const socket = await upgradeByHand(fixture);
    socket.on("error", () => {});
    // A binary frame of 32 MiB, masked.
    socket.write(Uint8Array.of(0x82, 0xff, 0, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3, 4));
    socket.write(new Uint8Array(bytes));
    return socket;
  };
  const small = await begin(500_000);
  const large = await begin(1_500_000);
  await others();
  const largeEnded = once(large, "close");
  large.resume();
  const last = await begin(1_200_000);
  await largeEnded;
  expect(fixture.relay.readStats().connections).toBe(4);

  // Messages that end are not held, however many they are.
  const sender = await fixture.raw("honest");
  const writer = new Writer(9);
  for (let i = 0; i < 20; i += 1) sender.sendUpdate(writer.push(new Uint8Array(400_000)));
  await sender.acknowledged(9, 20);
  await others();
  small.destroy();
  last.destroy();
});
