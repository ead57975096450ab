import { closeCodes } from "@coppice/wire";
import { WebSocket } from "ws";

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
  override close(code?: number, data?: string | Buffer): void {
    super.close(codeByWsCode.get(code) ?? code, data);
  }
}
