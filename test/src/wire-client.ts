import { once } from "node:events";
import { encodeFrame, type Frame, parseFrame } from "@coppice/wire";
import { type ClientOptions, WebSocket } from "ws";

/** A websocket that speaks the protocol's frames and does nothing by itself. */
export interface WireClient {
  readonly socket: WebSocket;
  /** Settles with the close code when the connection has ended. */
  readonly closed: Promise<number>;
  send(frame: Frame): void;
  /** Settles with the next frame that passes. Rejects when the connection ends before. */
  next<Type extends Frame["type"]>(
    type: Type,
    passes?: (frame: Extract<Frame, { type: Type }>) => boolean,
  ): Promise<Extract<Frame, { type: Type }>>;
}

/** Connects; `onFrame` hears of every frame, in order. Rejects when the relay cannot be reached. */
export async function openWireClient(
  url: string,
  onFrame: (frame: Frame) => void = () => undefined,
  options: ClientOptions = {},
): Promise<WireClient> {
  const socket = new WebSocket(url, options);
  const waits = new Set<{ see(frame: Frame): boolean; reject(error: Error): void }>();
  socket.on("message", (data) => {
    const parsed = parseFrame(new Uint8Array(data as Buffer));
    if (!parsed.ok) throw new Error(`the relay sent no frame: ${parsed.error}`);
    onFrame(parsed.value);
    for (const wait of waits) if (wait.see(parsed.value)) waits.delete(wait);
  });
  const closed = new Promise<number>((resolve) => {
    socket.on("close", (code) => {
      resolve(code);
      for (const wait of waits) wait.reject(new Error(`the connection was closed with ${code}`));
      waits.clear();
    });
  });
  await once(socket, "open");
  // From here on a connection that fails shows in `closed`.
  socket.on("error", () => undefined);
  return {
    socket,
    closed,
    send: (frame) => socket.send(encodeFrame(frame)),
    next: (type, passes = () => true) =>
      new Promise((resolve, reject) => {
        type Wanted = Extract<Frame, { type: typeof type }>;
        waits.add({
          see(frame) {
            if (frame.type !== type || !passes(frame as Wanted)) return false;
            resolve(frame as Wanted);
            return true;
          },
          reject,
        });
      }),
  };
}

/** Everything a room holds, as a relay gives it to a newcomer: its updates, in order. */
export async function readRoomUpdates(url: string): Promise<Uint8Array[]> {
  const updates: Uint8Array[] = [];
  const client = await openWireClient(url, (frame) => {
    if (frame.type === "update" || frame.type === "syncStep2") updates.push(frame.update);
  });
  client.send({ type: "syncStep1", stateVector: new Map() });
  await client.next("syncStep2");
  client.socket.close();
  await client.closed;
  return updates;
}
