import type { Duplex } from "node:stream";
import { closeCodes } from "@coppice/wire";
import { WebSocket } from "ws";
import type { Broadcast } from "./broadcast.ts";

/** What ws closes with by itself when it refuses bytes (RFC 6455 section 7.4.1), and what that is in our codes. */
const codeByWsCode: ReadonlyMap<number | undefined, number> = new Map([
  [1002, closeCodes.badFrame],
  [1007, closeCodes.badFrame],
  [1008, closeCodes.frameTooBig],
  [1009, closeCodes.frameTooBig],
]);

/**
 * The websocket class of the relay. ws itself closes a connection that sends a message above the limit (1009) or
 * breaks the websocket protocol (1002, 1007), and y-websocket would reconnect and send the same again for ever. The
 * only place to give these another code is the close call that ws makes on its own object.
 */
export class RelaySocket extends WebSocket {
  #transport: Duplex | undefined;

  /** Tells the stream beneath, once the upgrade is complete; without it every broadcast is sent like any message. */
  useTransport(transport: Duplex): void {
    // Under an extension ws may hold messages back, and what is written beneath would overtake them.
    if (this.extensions === "") this.#transport = transport;
  }

  /**
   * Sends what goes to others too. ws makes a header for each client and hands two pieces to the stream, which costs a
   * third of the whole delivery; a frame that is ready is one write. ws writes its own frames to the same stream at once,
   * so the order holds, and counts what waits there.
   */
  sendBroadcast({ message, websocketFrame }: Broadcast): void {
    if (this.#transport === undefined) this.send(message);
    else if (this.readyState === this.OPEN) this.#transport.write(websocketFrame);
  }

  override close(code?: number, data?: string | Buffer): void {
    super.close(codeByWsCode.get(code) ?? code, data);
  }
}
