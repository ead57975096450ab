import type { RawData } from "ws";
import type { Broadcast } from "./broadcast.ts";

/**
 * A client's websocket as a connection uses it: the part of a `ws` socket that a simulation has to provide. Its
 * `binaryType` is "nodebuffer".
 */
export interface ClientSocket {
  /** `openState` while frames can be sent. */
  readonly readyState: number;
  /** Bytes handed to `send` that have not left yet. */
  readonly bufferedAmount: number;
  readonly isPaused: boolean;
  send(frame: Uint8Array): void;
  /** Sends what goes to others too; the same as `send` of its message, also in order and in what is counted. */
  sendBroadcast(broadcast: Broadcast): void;
  close(code: number, reason: string): void;
  /** Ends the connection without a word. */
  terminate(): void;
  ping(): void;
  /** Stops and goes on giving `message` events; the sender feels it. */
  pause(): void;
  resume(): void;
  on(event: "message", listener: (data: RawData, isBinary: boolean) => void): unknown;
  on(event: "pong" | "close", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** The stream beneath a client's websocket. */
export interface ClientTransport {
  /** Bytes that came in so far, where the stream counts them. */
  readonly bytesRead?: number;
  /** Holds written bytes together until `uncork`, so that many small frames leave in one system call. */
  cork(): void;
  uncork(): void;
  /** `drain`: what was buffered has left. */
  on(event: "drain", listener: () => void): unknown;
  off(event: "drain", listener: () => void): unknown;
}

/** `ClientSocket.readyState` of a socket that is open: that of the WebSocket standard. */
export const openState = 1;
