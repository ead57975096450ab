import type { WebSocketConstructor } from "./workspace-types.ts";

/**
 * A socket class for `WebsocketProvider` whose text frames never reach the provider: its handler makes a
 * `Uint8Array` of the string and dies of an uncaught exception. Our relay sends none; whoever does is not a relay.
 */
export function createBinarySocketClass(Base: WebSocketConstructor, onTextFrame: () => void): WebSocketConstructor {
  return class BinarySocket extends Base {
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
