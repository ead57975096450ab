import { once } from "node:events";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { type Frame, parseFrame } from "@coppice/wire";
import { WebSocket, WebSocketServer } from "ws";

/** A relay's address with something bad on the way. */
export interface Proxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Passes whole frames on, except those that `loses` names: they vanish, and the connection stays. */
export async function startFrameProxy(
  target: string,
  loses: (frame: Frame, from: "client" | "relay") => boolean,
): Promise<Proxy> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  server.on("connection", (client, request) => {
    const relay = new WebSocket(`${target}${request.url ?? ""}`);
    const waiting: Buffer[] = [];
    const passesOn = (data: Buffer, from: "client" | "relay"): boolean => {
      const parsed = parseFrame(new Uint8Array(data));
      return !(parsed.ok && loses(parsed.value, from));
    };
    client.on("message", (data) => {
      if (!passesOn(data as Buffer, "client")) return;
      if (relay.readyState === WebSocket.OPEN) relay.send(data);
      else waiting.push(data as Buffer);
    });
    relay.on("open", () => {
      for (const data of waiting.splice(0)) relay.send(data);
    });
    relay.on("message", (data) => {
      if (passesOn(data as Buffer, "relay")) client.send(data);
    });
    for (const [one, other] of [
      [client, relay],
      [relay, client],
    ] as const) {
      one.on("error", () => other.terminate());
      one.on("close", () => other.terminate());
    }
  });
  await once(server, "listening");
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const client of server.clients) client.terminate();
      server.close();
      await once(server, "close");
    },
  };
}

/** Passes bytes on. After `cutNextAfter` the connection that sends that many more bytes to the relay is cut there. */
export async function startCuttingProxy(target: string): Promise<Proxy & { cutNextAfter(bytes: number): void }> {
  const { port } = new URL(target);
  const sockets = new Set<Socket>();
  let bytesLeft = Number.POSITIVE_INFINITY;
  const server = createTcpServer((client) => {
    const relay = connect(Number(port), "127.0.0.1");
    for (const socket of [client, relay]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        client.destroy();
        relay.destroy();
        sockets.delete(socket);
      });
    }
    relay.pipe(client);
    client.on("data", (data) => {
      relay.write(data.subarray(0, bytesLeft));
      if (data.length < bytesLeft) {
        bytesLeft -= data.length;
        return;
      }
      bytesLeft = Number.POSITIVE_INFINITY;
      client.resetAndDestroy();
      relay.resetAndDestroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutNextAfter(bytes) {
      bytesLeft = bytes;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
