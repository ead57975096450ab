import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { type Frame, parseFrame } from "@coppice/wire";
import { type WebSocket, WebSocketServer, WebSocket as WsClient } from "ws";

/** Which way a message goes. */
type Direction = "up" | "down";

/** What happens to whoever wants to connect. */
export type Door =
  /** Is led to the relay. */
  | "open"
  /** The socket is taken and the upgrade never answered. */
  | "half-open"
  /** The upgrade succeeds, pings are answered, and no message ever comes. */
  | "mute"
  /** The upgrade succeeds and the connection is cut. */
  | "drop"
  /** The upgrade is answered with an HTTP status. */
  | { readonly status: number }
  /** The upgrade succeeds and the connection is closed with a code. */
  | { readonly code: number; readonly reason: string };

/** A relay's address with a network in front of it that does what a test says. */
export interface ScriptedProxy {
  readonly url: string;
  /** Messages that came, by direction, dropped ones included. */
  readonly counts: { up: number; down: number };
  /** Called for every message; false drops it. */
  passes: (message: Uint8Array, direction: Direction) => boolean;
  /** What the proxy answers by itself to a client's frame, which then goes no further; undefined: it passes. */
  answer: (frame: Frame) => Uint8Array | undefined;
  /** False: pings get no answer. */
  answersPings: boolean;
  /** Asked for each attempt to connect; told its number, from 0. */
  door: (attempt: number) => Door;
  /** What each attempt offered as subprotocols, oldest first. */
  readonly offers: (string | undefined)[];
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
  const http = createServer();
  const server = new WebSocketServer({ noServer: true, autoPong: false });
  const pairs = new Set<readonly [WebSocket, WebSocket]>();
  const transports = new Set<Duplex>();
  let target = relayUrl;
  const proxy: ScriptedProxy = {
    url: "",
    counts: { up: 0, down: 0 },
    passes: () => true,
    answer: () => undefined,
    answersPings: true,
    door: () => "open",
    offers: [],
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
      for (const transport of transports) transport.destroy();
      http.close();
      await once(http, "close");
    },
  };
  http.on("upgrade", (request, transport, head) => {
    transports.add(transport);
    transport.on("error", () => undefined);
    transport.on("close", () => transports.delete(transport));
    const offered = request.headers["sec-websocket-protocol"];
    const door = proxy.door(proxy.offers.push(offered) - 1);
    if (door === "half-open") return;
    if (typeof door === "object" && "status" in door) {
      transport.end(`HTTP/1.1 ${door.status} Nothing here\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    server.handleUpgrade(request, transport, head, (near) => {
      near.on("ping", (data) => {
        if (proxy.answersPings) near.pong(data);
      });
      if (door === "drop" || !proxy.isOpen) near.terminate();
      else if (typeof door === "object") near.close(door.code, door.reason);
      else if (door === "open") lead(near, request.url ?? "", offered);
    });
  });
  const lead = (near: WebSocket, url: string, offered: string | undefined): void => {
    const far = new WsClient(`${target}${url}`, offered?.split(/, */) ?? []);
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
      const parsed = parseFrame(message);
      const answer = parsed.ok ? proxy.answer(parsed.value) : undefined;
      if (answer !== undefined) {
        near.send(answer);
        return;
      }
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
  };
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return Object.assign(proxy, { url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}` });
}
