import { encodeFrame } from "@coppice/wire";
import { WebSocket } from "ws";
import { WebsocketProvider } from "y-websocket";
import * as Y from "yjs";

/** A stock y-websocket client with nothing of ours in it, and counts of what went over its sockets. */
export interface StockClient {
  readonly doc: Y.Doc;
  readonly entries: Y.Array<Uint8Array>;
  readonly provider: WebsocketProvider;
  readonly traffic: StockTraffic;
  /** Settles when this holds; looked at whenever the document, the cursors or the connection changed. */
  until(holds: () => boolean): Promise<void>;
  destroy(): void;
}

/** Messages of a stock client, since it was opened. */
interface StockTraffic {
  sent: number;
  received: number;
  /** Of both: what is not about cursors or signs of life. */
  sync: number;
  /** Of those received: frames of cursors that name somebody. */
  receivedCursors: number;
  connections: number;
}

/** Opens one on a room; With `resyncIntervalMs` it compares with the relay that often, as the provider's
 * `resyncInterval` does; its own timer needs a global WebSocket, which Node 20 lacks. */
export function openStockClient(
  url: string,
  room: string,
  options: { doc?: Y.Doc; resyncIntervalMs?: number } = {},
): StockClient {
  const doc = options.doc ?? new Y.Doc();
  const traffic: StockTraffic = { sent: 0, received: 0, sync: 0, receivedCursors: 0, connections: 0 };
  const provider = new WebsocketProvider(url, room, doc, {
    disableBc: true,
    WebSocketPolyfill: createCountingSocket(traffic),
  });
  const { resyncIntervalMs } = options;
  const compares =
    resyncIntervalMs === undefined ? undefined : setInterval(() => askWhatIsMissing(provider), resyncIntervalMs);
  return {
    doc,
    entries: doc.getArray<Uint8Array>("entries"),
    provider,
    traffic,
    until: (holds) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!holds()) return;
          doc.off("update", look);
          provider.off("sync", look);
          provider.off("status", look);
          provider.awareness.off("update", look);
          resolve();
        };
        doc.on("update", look);
        provider.on("sync", look);
        provider.on("status", look);
        provider.awareness.on("update", look);
        look();
      }),
    destroy() {
      clearInterval(compares);
      provider.destroy();
      provider.awareness.destroy();
    },
  };
}

/** Sends a stock client's SyncStep1. */
export function askWhatIsMissing({ ws, doc }: WebsocketProvider): void {
  if (ws?.readyState !== WebSocket.OPEN) return;
  ws.send(
    Uint8Array.from(encodeFrame({ type: "syncStep1", stateVector: Y.decodeStateVector(Y.encodeStateVector(doc)) })),
  );
}

function createCountingSocket(traffic: StockTraffic): typeof globalThis.WebSocket {
  class CountingSocket extends WebSocket {
    constructor(url: string, protocols?: string[]) {
      super(url, protocols);
      this.on("open", () => {
        traffic.connections += 1;
      });
      this.on("message", (data) => {
        // The provider asks for array buffers.
        const bytes = new Uint8Array(data as ArrayBuffer);
        traffic.received += 1;
        if (bytes[0] === 0) traffic.sync += 1;
        // Message 1 is awareness; the byte behind its length counts the states, 0 in a sign of life.
        if (bytes[0] === 1 && bytes[2] !== 0) traffic.receivedCursors += 1;
      });
    }
    override send(data: Parameters<WebSocket["send"]>[0]): void {
      traffic.sent += 1;
      if (data instanceof Uint8Array && data[0] === 0) traffic.sync += 1;
      super.send(data);
    }
  }
  // ws has the same interface for what the provider uses; their types differ in events nobody uses here.
  return CountingSocket as unknown as typeof globalThis.WebSocket;
}
