import { messageOf } from "./error-message.ts";
import type { WebSocketConstructor } from "./workspace-types.ts";

/** What a socket may offer beyond the standard; `ws` does, a browser does not. */
type CountingSocket = WebSocket & {
  /** Ends a dead connection without waiting for the other side. */
  terminate?(): void;
  /** Asks for a sign of life below the messages. */
  ping?(): void;
  /** Shows the connection beneath. */
  once?(event: "upgrade", listener: (response: { readonly socket?: Transport }) => void): void;
};

interface Transport {
  /** All bytes of the connection so far, those of a message still under way included. */
  readonly bytesRead?: number;
}

/** What a socket asks of its owner. */
export interface RelaySocketOptions {
  readonly webSocket: WebSocketConstructor;
  /** Settles, with the subprotocols to offer, when the socket may be opened; rejects when this attempt has failed. */
  readonly prepare: (signal: AbortSignal) => Promise<readonly string[]>;
  /** An attempt that has not led to an open socket so long after `prepare` has failed, in ms. */
  readonly openTimeoutMs: number;
  readonly onTextFrame: () => void;
}

/** How a connection ended, as a close event says it. */
export interface SocketClose {
  readonly code: number;
  readonly reason: string;
}

/** What a browser says when there was no close frame (RFC 6455 section 7.1.5). */
const abnormalClosure = 1006;

/**
 * The socket `WebsocketProvider` is given: it opens later, when the wait before the attempt is over and a token is there,
 * and reports every failure on the way as a close. Of what the provider sends by itself (a question that takes all we
 * hold for the relay's, cursors of others) nothing goes out: what is said and when is ours. Text frames never reach the
 * provider: its handler makes a `Uint8Array` of the string and dies of an uncaught exception. Where the class is `ws`,
 * received bytes are counted, so that a large record on a slow line is not taken for silence.
 */
export class RelaySocket {
  readonly CONNECTING = 0;
  readonly OPEN = 1;
  readonly CLOSING = 2;
  readonly CLOSED = 3;
  binaryType: BinaryType = "arraybuffer";
  onopen: (() => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onclose: ((event: SocketClose) => void) | null = null;
  onerror: ((event: unknown) => void) | null = null;
  readonly #options: RelaySocketOptions;
  readonly #url: string;
  readonly #abort = new AbortController();
  #socket: CountingSocket | undefined;
  #transport: Transport | undefined;
  #openTimer: ReturnType<typeof setTimeout> | undefined;
  #failure = "";
  #isEnded = false;

  constructor(url: string, options: RelaySocketOptions) {
    this.#url = url;
    this.#options = options;
    options.prepare(this.#abort.signal).then(
      (protocols) => this.#open(protocols),
      (error: unknown) => this.#end({ code: abnormalClosure, reason: messageOf(error) }),
    );
  }

  get readyState(): number {
    if (this.#isEnded) return this.CLOSED;
    return this.#socket?.readyState ?? this.CONNECTING;
  }

  get bufferedAmount(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  /** All bytes that have come; undefined where nobody counts them. */
  get bytesReceived(): number | undefined {
    return this.#transport?.bytesRead;
  }

  /** The provider's. */
  send(): void {}

  /** Sends one of our own messages. */
  sendMessage(bytes: Uint8Array): void {
    // lib0 and Yjs allocate plain ArrayBuffers; their types do not say so.
    this.#socket?.send(bytes as Uint8Array<ArrayBuffer>);
  }

  /** Asks for a sign of life below the messages. Returns whether this kind of socket can. */
  ping(): boolean {
    if (this.#socket?.ping === undefined) return false;
    this.#socket.ping();
    return true;
  }

  /** Ends the connection in order; the provider tells itself. */
  close(): void {
    this.#leave();
    this.#socket?.close();
  }

  /** Ends the connection without waiting for the other side. */
  terminate(): void {
    this.#leave();
    this.#socket?.terminate?.();
  }

  #leave(): void {
    this.#isEnded = true;
    this.#abort.abort();
    clearTimeout(this.#openTimer);
  }

  #open(protocols: readonly string[]): void {
    if (this.#isEnded) return;
    const { webSocket: Base, openTimeoutMs, onTextFrame } = this.#options;
    let socket: CountingSocket;
    try {
      // Some servers refuse a list that is there and empty.
      socket = protocols.length === 0 ? new Base(this.#url) : new Base(this.#url, [...protocols]);
    } catch (error) {
      // An address the class does not take. What it says may quote the protocols, and so the token.
      const reason = protocols.length === 0 ? messageOf(error) : "the socket cannot be opened";
      this.#end({ code: abnormalClosure, reason });
      return;
    }
    this.#socket = socket;
    socket.binaryType = this.binaryType;
    socket.once?.("upgrade", (response) => {
      this.#transport = response.socket;
    });
    this.#openTimer = setTimeout(() => {
      this.#end({ code: abnormalClosure, reason: `no answer within ${openTimeoutMs / 1_000} s` });
      if (socket.terminate === undefined) socket.close();
      else socket.terminate();
    }, openTimeoutMs);
    socket.onopen = () => {
      clearTimeout(this.#openTimer);
      if (!this.#isEnded) this.onopen?.();
    };
    socket.onmessage = (event) => {
      if (this.#isEnded) return;
      if (typeof event.data === "string") onTextFrame();
      else this.onmessage?.(event);
    };
    // Stays for as long as the socket lives: in Node an error without a listener is an uncaught exception.
    socket.onerror = (event) => {
      const { message } = event as Partial<ErrorEvent>;
      if (message !== undefined) this.#failure = message;
      if (!this.#isEnded) this.onerror?.(event);
    };
    socket.onclose = ({ code, reason }) => this.#end({ code, reason: reason === "" ? this.#failure : reason });
  }

  #end(close: SocketClose): void {
    if (this.#isEnded) return;
    this.#leave();
    this.onclose?.(close);
  }
}

/** The class to give to the provider, which makes its sockets by `new`. */
export function createRelaySocketClass(options: RelaySocketOptions): typeof WebSocket {
  const Socket = class extends RelaySocket {
    constructor(url: string) {
      super(url, options);
    }
  };
  // The provider uses the part of a WebSocket that is above; its type asks for all of one.
  return Socket as unknown as typeof WebSocket;
}
