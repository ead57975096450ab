import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { prepareBroadcast } from "../src/broadcast.ts";
import { RelaySocket } from "../src/relay-socket.ts";

/** Both sides of every step in the length of a websocket header (RFC 6455 section 5.2), and a large one. */
const sizes = [0, 1, 125, 126, 127, 65_535, 65_536, 300_000];

interface Pair {
  readonly server: RelaySocket;
  /** The stream beneath the server's socket. */
  readonly transport: Duplex;
  readonly client: WebSocket;
}

/** A websocket of the relay's class and its client, with or without compression. */
async function connectPair(perMessageDeflate: boolean): Promise<Pair> {
  const listener = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate, WebSocket: RelaySocket });
  onTestFinished(() => void listener.close());
  await once(listener, "listening");
  const connected = new Promise<Omit<Pair, "client">>((resolve) => {
    listener.once("connection", (server: RelaySocket, { socket: transport }) => {
      server.useTransport(transport);
      resolve({ server, transport });
    });
  });
  const client = new WebSocket(`ws://127.0.0.1:${(listener.address() as AddressInfo).port}`, { perMessageDeflate });
  onTestFinished(() => client.terminate());
  const [pair] = await Promise.all([connected, once(client, "open")]);
  return { ...pair, client };
}

/** Settles with the next messages, in the order they came. */
function receive(client: WebSocket, count: number): Promise<Buffer[]> {
  return new Promise((resolve) => {
    const messages: Buffer[] = [];
    client.on("message", (data, isBinary) => {
      expect(isBinary).toBe(true);
      if (messages.push(data as Buffer) === count) resolve(messages);
    });
  });
}

for (const isCompressed of [false, true]) {
  test(`[RL80] a broadcast arrives as it is and in its turn, ${isCompressed ? "compressed" : "not compressed"}`, async () => {
    const { server, client } = await connectPair(isCompressed);
    expect(server.extensions !== "").toBe(isCompressed);
    const messages = [...sizes, ...sizes.toReversed()].map((size, at) => new Uint8Array(size).fill(at + 1));
    const received = receive(client, messages.length);
    for (const [at, message] of messages.entries()) {
      if (at % 2 === 0) server.sendBroadcast(prepareBroadcast(message));
      else server.send(message);
      if (at % 3 === 0) server.ping();
    }
    const arrived = await received;
    for (const [at, message] of messages.entries()) {
      expect(Buffer.compare(arrived[at] as Buffer, message), `message ${at} of ${message.length} bytes`).toBe(0);
    }
  });
}

test("[RL80] a broadcast that the reader does not take counts as buffered like any message", async () => {
  const { server, transport, client } = await connectPair(false);
  client.pause();
  const message = new Uint8Array(300_000);
  const broadcast = prepareBroadcast(message);
  // From here on nothing reaches the kernel, so that both are counted whole.
  while (server.bufferedAmount === 0) server.send(message);
  const counted = [() => server.send(message), () => server.sendBroadcast(broadcast)].map((send) => {
    const before = server.bufferedAmount;
    send();
    return server.bufferedAmount - before;
  });
  expect(counted).toEqual([broadcast.websocketFrame.length, broadcast.websocketFrame.length]);
  const drained = once(transport, "drain");
  client.resume();
  await drained;
  expect(server.bufferedAmount).toBe(0);
});

test("[RL80] nothing is sent behind the close frame", async () => {
  const { server, client } = await connectPair(false);
  const received = receive(client, 1);
  const closed = once(client, "close");
  server.sendBroadcast(prepareBroadcast(Uint8Array.of(1)));
  server.close(4500, "over");
  server.sendBroadcast(prepareBroadcast(Uint8Array.of(2)));
  expect(await received).toEqual([Buffer.of(1)]);
  expect((await closed)[0]).toBe(4500);
  expect(server.bufferedAmount).toBe(0);
});
