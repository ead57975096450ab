import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer, WebSocket as WsClient } from "ws";

/** Which way a message goes. */
type Direction = "up" | "down";

/** A relay's address with a network in front of it that does what a test says. */
export interface ScriptedProxy {
  readonly url: string;
  /** Messages that came, by direction, dropped ones included. */
  readonly counts: { up: number; down: number };
  /** Called for every message; false drops it. */
  passes: (message: Uint8Array, direction: Direction) => boolean;
  /** False: connections are cut and new ones are not let in. */
  isOpen: boolean;
  /** Told the code with which the relay closed a connection. */
  onClose: (code: number) => void;
  /** How long a message waits before it goes up, in ms. */
  upDelayMs: number;
  /** Cuts every connection. */
  cut(): void;
  /** Where new connections lead from now on. */
  leadTo(relayUrl: string): void;
  close(): Promise<void>;
}

/** Starts a proxy of whole websocket messages. */
export async function startScriptedProxy(relayUrl: string): Promise<ScriptedProxy> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  const pairs = new Set<readonly [WebSocket, WebSocket]>();
  let target = relayUrl;
  const proxy: ScriptedProxy = {
    url: "",
    counts: { up: 0, down: 0 },
    passes: () => true,
    isOpen: true,
    onClose: () => undefined,
    upDelayMs: 0,
    cut() {
      for (const [near, far] of pairs) {
        near.terminate();
        far.terminate();
      }
      pairs.clear();
    },
    leadTo(url) {
      target = url;
    },
    async close() {
      proxy.cut();
      server.close();
      await once(server, "close");
    },
  };
  server.on("connection", (near, { url }) => {
    if (!proxy.isOpen) {
      near.terminate();
      return;
    }
    const far = new WsClient(`${target}${url}`);
    const pair = [near, far] as const;
    pairs.add(pair);
    const opened = once(far, "open").catch(() => near.terminate());
    const end = (): void => {
      pairs.delete(pair);
      near.terminate();
      far.terminate();
    };
    near.on("message", (data) => {
      proxy.counts.up += 1;
      const message = new Uint8Array(data as Buffer);
      if (!proxy.passes(message, "up")) return;
      const send = (): void => {
        if (far.readyState === far.OPEN) far.send(message);
      };
      opened.then(() => (proxy.upDelayMs > 0 ? void setTimeout(send, proxy.upDelayMs) : send()));
    });
    far.on("message", (data) => {
      proxy.counts.down += 1;
      const message = new Uint8Array(data as Buffer);
      if (proxy.passes(message, "down")) near.send(message);
    });
    near.on("ping", (data) => void opened.then(() => far.readyState === far.OPEN && far.ping(data)));
    near.on("close", end);
    far.on("close", (code, reason) => {
      pairs.delete(pair);
      proxy.onClose(code);
      // 1005 and 1006 say that there was no code; they cannot be sent.
      if (code >= 4000) near.close(code, reason);
      else near.terminate();
    });
    far.on("error", end);
  });
  await once(server, "listening");
  return Object.assign(proxy, { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
