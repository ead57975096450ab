import type { WebSocketConstructor } from "@coppice/client";
import { WebSocket } from "ws";

/** The WebSocket of this Node process. Sealed bytes do not compress, so it does not offer to. */
class RelaySocket extends WebSocket {
  constructor(url: string | URL, protocols?: string | string[]) {
    super(url, protocols, { perMessageDeflate: false });
  }
}

/** The socket class that commands hand to `openWorkspace`. */
// `ws` implements the standard interface, but its types name event classes of their own.
export const relaySocketClass: WebSocketConstructor = RelaySocket as unknown as WebSocketConstructor;
