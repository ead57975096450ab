import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { encodeFrame, encodeUpdate, type Frame, parseFrame } from "@coppice/wire";
import { type WebSocket, WebSocketServer } from "ws";

/** A server that speaks the protocol's frames and does only what a test tells it. */
export interface RawRelay {
  readonly url: string;
  /** Every frame that came, with the connection's number (from 0). */
  readonly frames: { connection: number; frame: Frame }[];
  readonly sockets: WebSocket[];
  /** Settles with the first frame, old or new, that passes. */
  waitForFrame(passes: (frame: Frame, connection: number) => boolean): Promise<Frame>;
  close(): Promise<void>;
}

/** Starts one; `onFrame` may answer. */
export async function startRawRelay(
  onFrame: (frame: Frame, answer: (frame: Frame) => void, connection: number) => void = () => undefined,
): Promise<RawRelay> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  const frames: RawRelay["frames"] = [];
  const sockets: WebSocket[] = [];
  const watchers = new Set<() => void>();
  server.on("connection", (socket) => {
    const connection = sockets.push(socket) - 1;
    socket.on("message", (data) => {
      const parsed = parseFrame(new Uint8Array(data as Buffer));
      if (!parsed.ok) throw new Error(`the client sent a bad frame: ${parsed.error}`);
      frames.push({ connection, frame: parsed.value });
      onFrame(parsed.value, (frame) => socket.send(encodeFrame(frame)), connection);
      for (const watch of watchers) watch();
    });
  });
  await once(server, "listening");
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    frames,
    sockets,
    waitForFrame: (passes) =>
      new Promise((resolve) => {
        const watch = (): void => {
          const found = frames.find(({ frame, connection }) => passes(frame, connection));
          if (found === undefined) return;
          watchers.delete(watch);
          resolve(found.frame);
        };
        watchers.add(watch);
        watch();
      }),
    async close() {
      for (const socket of sockets) socket.terminate();
      server.close();
      await once(server, "close");
    },
  };
}

/** Answers as an empty relay does, but acknowledges nothing of what it gets. */
export function answerWithoutAcks(frame: Frame, answer: (frame: Frame) => void): void {
  if (frame.type === "ackRequest") answer({ type: "ack", pairs: [] });
  if (frame.type !== "syncStep1") return;
  answer({ type: "syncStep2", update: encodeUpdate([]) });
  answer({ type: "syncStep1", stateVector: new Map() });
}
