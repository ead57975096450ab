import type { SimulatedConnection } from "./simulated-network.ts";

type Handler = ((event: never) => void) | null;

/** What a socket needs of its connection. */
type Line = Pick<SimulatedConnection, "sendFromClient" | "close" | "cut" | "toServer">;

/** The client's end of a simulated connection: the part of a standard WebSocket that clients use. */
export class ClientSocket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  readonly CONNECTING = 0;
  readonly OPEN = 1;
  readonly CLOSING = 2;
  readonly CLOSED = 3;
  readonly url: string;
  binaryType = "blob";
  onopen: Handler = null;
  onclose: Handler = null;
  onerror: Handler = null;
  #onmessage: Handler = null;
  #readyState = 0;
  #isDead = false;
  #line: Line | undefined;
  readonly #stream = { bytesRead: 0 };
  #onUpgrade: ((response: { socket: { bytesRead: number } }) => void) | undefined;

  constructor(url: string | URL, connect: (socket: ClientSocket) => void) {
    this.url = String(url);
    connect(this);
  }

  /** On the prototype, as in browsers and `ws`, so that subclasses can wrap it. */
  get onmessage(): Handler {
    return this.#onmessage;
  }
  set onmessage(handler: Handler) {
    this.#onmessage = handler;
  }

  get readyState(): number {
    return this.#readyState;
  }

  get bufferedAmount(): number {
    return this.#line?.toServer.bytes ?? 0;
  }

  /** Of `ws`: the connection beneath is told once it is there. */
  once(_event: "upgrade", listener: (response: { socket: { bytesRead: number } }) => void): void {
    this.#onUpgrade = listener;
  }

  send(bytes: Uint8Array): void {
    if (this.#readyState === 0) throw new Error("The socket is still connecting");
    if (this.#readyState === 1) this.#line?.sendFromClient(bytes);
  }

  close(code = 1005, reason = ""): void {
    if (this.#readyState > 1) return;
    const wasOpen = this.#readyState === 1;
    this.#readyState = 2;
    if (wasOpen) this.#line?.close("client", code, reason);
    else this.#line?.cut("reset");
  }

  /** Of `ws`: ends the connection without waiting for the other side. */
  terminate(): void {
    if (this.#readyState === 3) return;
    this.#readyState = 2;
    this.#line?.cut("reset");
  }

  attach(line: Line): void {
    this.#line = line;
  }

  becomeOpen(): void {
    if (this.#isDead || this.#readyState !== 0) return;
    this.#readyState = 1;
    this.#onUpgrade?.({ socket: this.#stream });
    call(this.onopen, { type: "open", target: this });
  }

  receive(data: Uint8Array): void {
    this.#stream.bytesRead += data.length;
    if (!this.#isDead && this.#readyState === 1) call(this.#onmessage, { type: "message", data: data.buffer });
  }

  becomeClosed(code: number, reason: string): void {
    if (this.#readyState === 3) return;
    this.#readyState = 3;
    if (this.#isDead) return;
    if (code === 1006) call(this.onerror, { type: "error", message: "The connection was lost" });
    call(this.onclose, { type: "close", code, reason, wasClean: code !== 1006 });
  }

  /** The process is gone. */
  die(): void {
    this.#isDead = true;
    this.#readyState = 3;
  }
}

function call(handler: Handler, event: object): void {
  (handler as ((event: object) => void) | null)?.(event);
}
