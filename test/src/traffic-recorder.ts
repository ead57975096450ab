import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type RawData, WebSocket, WebSocketServer } from "ws";

/** A websocket proxy before a relay that keeps every message's unmasked bytes, both ways; the handshake is not among them. */
export interface TrafficRecorder {
  readonly url: string;
  /** All messages so far, one after the other. */
  bytes(): Buffer;
  close(): Promise<void>;
}

/** Starts a recorder on loopback in front of a relay. */
export async function startTrafficRecorder(relayUrl: string): Promise<TrafficRecorder> {
  const messages: Buffer[] = [];
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  server.on("connection", (near, request) => {
    const far = new WebSocket(`${relayUrl}${request.url ?? "/"}`);
    const early: { data: RawData; isBinary: boolean }[] = [];
    near.on("message", (data, isBinary) => {
      messages.push(Buffer.from(data as Buffer));
      if (far.readyState === WebSocket.OPEN) far.send(data, { binary: isBinary });
      else early.push({ data, isBinary });
    });
    far.on("open", () => {
      for (const { data, isBinary } of early) far.send(data, { binary: isBinary });
    });
    far.on("message", (data, isBinary) => {
      messages.push(Buffer.from(data as Buffer));
      near.send(data, { binary: isBinary });
    });
    near.on("close", () => far.close());
    far.on("close", (code, reason) => near.close(code === 1006 || code === 1005 ? 1000 : code, reason));
    for (const socket of [near, far]) socket.on("error", () => socket.terminate());
  });
  await once(server, "listening");
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bytes: () => Buffer.concat(messages),
    async close() {
      for (const client of server.clients) client.terminate();
      server.close();
      await once(server, "close");
    },
  };
}
