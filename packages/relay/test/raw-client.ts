import { once } from "node:events";
import { encodeFrame, type Frame, parseFrame, protocolVersion } from "@coppice/wire";
import { type ClientOptions, WebSocket } from "ws";

/** How a connection ended. */
export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/**
 * A websocket that speaks frames and nothing else: it sends what it is told and keeps what it gets, in order, until a
 * test takes it.
 */
export class RawClient {
  readonly socket: WebSocket;
  /** Settles when the connection has ended. */
  readonly closed: Promise<Closed>;
  /** Every frame that came, also those that were taken. */
  readonly received: Frame[] = [];
  readonly #waiting: Frame[] = [];
  #wake: Array<() => void> = [];
  #end: Closed | undefined;

  constructor(url: string, options: ClientOptions = {}, protocols: string[] = []) {
    this.socket = new WebSocket(url, protocols, options);
    // A refused or cut connection is what many tests look for; they read it from `closed`.
    this.socket.on("error", () => {});
    this.socket.on("message", (data) => {
      const parsed = parseFrame(new Uint8Array(data as Buffer));
      if (!parsed.ok) throw new Error(`the relay sent no frame: ${parsed.error}`);
      this.received.push(parsed.value);
      this.#waiting.push(parsed.value);
      for (const wake of this.#wake.splice(0)) wake();
    });
    this.closed = new Promise((resolve) => {
      this.socket.on("close", (code, reason) => {
        this.#end = { code, reason: reason.toString() };
        resolve(this.#end);
        for (const wake of this.#wake.splice(0)) wake();
      });
    });
  }

  static async open(url: string, options: ClientOptions = {}): Promise<RawClient> {
    const client = new RawClient(url, options);
    await once(client.socket, "open");
    return client;
  }

  send(frame: Frame): void {
    this.socket.send(encodeFrame(frame));
  }

  sendUpdate(update: Uint8Array): void {
    this.send({ type: "update", update });
  }

  /** Takes the next frame of this type that was not taken yet, waiting for it; frames before it are left. */
  take<Type extends Frame["type"]>(
    type: Type,
    isWanted: (frame: Extract<Frame, { type: Type }>) => boolean = () => true,
  ): Promise<Extract<Frame, { type: Type }>> {
    type Wanted = Extract<Frame, { type: Type }>;
    return this.#takeWhere((frame): frame is Wanted => frame.type === type && isWanted(frame as Wanted));
  }

  /** Takes the update of the next `update` or `syncStep2` frame. */
  async takeUpdate(): Promise<Uint8Array> {
    type Wanted = Extract<Frame, { type: "update" | "syncStep2" }>;
    const isWanted = (frame: Frame): frame is Wanted => frame.type === "update" || frame.type === "syncStep2";
    return (await this.#takeWhere(isWanted)).update;
  }

  async #takeWhere<Wanted extends Frame>(isMatch: (frame: Frame) => frame is Wanted): Promise<Wanted> {
    for (;;) {
      const found = this.#waiting.find(isMatch);
      if (found !== undefined) {
        this.#waiting.splice(this.#waiting.indexOf(found), 1);
        return found;
      }
      if (this.#end !== undefined) throw new Error(`closed with ${this.#end.code} while waiting for a frame`);
      await this.nextFrame();
    }
  }

  /** Settles when another frame has come, or the connection has ended. */
  nextFrame(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake.push(resolve);
    });
  }

  /** Settles when the relay says that this many structs of a client are durable. */
  async acknowledged(client: number, clock: number): Promise<void> {
    this.send({ type: "ackRequest", version: protocolVersion, clients: [client] });
    await this.take("ack", ({ pairs }) => pairs.some((pair) => pair.client === client && pair.clock >= clock));
  }

  /** Settles when the relay has handled every frame sent before; what it sent for them until then has come. */
  async barrier(): Promise<void> {
    const subType = 1_000 + this.received.length;
    this.send({ type: "unknownExtension", subType, payload: new Uint8Array() });
    await this.take("refused", ({ reason }) => reason.includes(`67/${subType}`));
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
  }
}
