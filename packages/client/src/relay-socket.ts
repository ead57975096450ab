import type { WebSocketConstructor } from "./workspace-types.ts";

/** What a socket may offer beyond the standard; `ws` does, a browser does not. */
type CountingSocket = WebSocket & {
  /** All bytes of the connection so far, those of a message still under way included. */
  readonly bytesReceived?: number | undefined;
  /** Ends a dead connection without waiting for the other side. */
  terminate?(): void;
  /** Asks for a sign of life below the messages. */
  ping?(): void;
};

/** A socket of the class below. */
export type BinarySocket = CountingSocket & {
  /** Sends one of our own messages. */
  sendMessage(bytes: Uint8Array): void;
};

/** The part of `ws` that shows the connection beneath. */
interface UpgradingSocket {
  once?(event: "upgrade", listener: (response: { readonly socket?: { readonly bytesRead?: number } }) => void): void;
}

/**
 * A socket class for `WebsocketProvider`. Of what the provider sends by itself (a question that takes all we hold for
 * the relay's, cursors of others) nothing goes out: what is said and when is ours. Text frames never reach the provider: its handler makes a `Uint8Array` of the
 * string and dies of an uncaught exception; our relay sends none, and whoever does is not a relay. Where the class is
 * `ws`, received bytes are counted, so that a large record on a slow line is not taken for silence.
 */
export function createBinarySocketClass(Base: WebSocketConstructor, onTextFrame: () => void): WebSocketConstructor {
  return class BinarySocket extends Base {
    #transport: { readonly bytesRead?: number } | undefined;

    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols);
      (this as UpgradingSocket).once?.("upgrade", ({ socket }) => {
        this.#transport = socket;
      });
    }

    /** The provider's. */
    override send(): void {}

    sendMessage(bytes: Uint8Array): void {
      // lib0 and Yjs allocate plain ArrayBuffers; their types do not say so.
      super.send(bytes as Uint8Array<ArrayBuffer>);
    }

    get bytesReceived(): number | undefined {
      return this.#transport?.bytesRead;
    }

    override get onmessage(): WebSocket["onmessage"] {
      return super.onmessage;
    }
    override set onmessage(handler: WebSocket["onmessage"]) {
      super.onmessage =
        handler === null
          ? null
          : (event) => {
              if (typeof event.data === "string") onTextFrame();
              else handler.call(this as unknown as WebSocket, event);
            };
    }
  };
}
