import type { Socket } from "node:net";
import type { WebSocketConstructor } from "@coppice/client";
import { WebSocket } from "ws";

/** The WebSocket of this Node process. Sealed bytes do not compress, so it does not offer to. */
class RelaySocket extends WebSocket {
  #transport: Socket | undefined;

  constructor(url: string | URL, protocols?: string | string[]) {
    super(url, protocols, { perMessageDeflate: false });
    this.once("upgrade", ({ socket }) => {
      this.#transport = socket;
    });
  }

  /** All bytes so far, those of a message still under way included: a large record on a slow line is no silence. */
  get bytesReceived(): number {
    return this.#transport?.bytesRead ?? 0;
  }
}

/** The socket class that commands hand to `openWorkspace`. */
// `ws` implements the standard interface, but its types name event classes of their own.
export const relaySocketClass: WebSocketConstructor = RelaySocket as unknown as WebSocketConstructor;
