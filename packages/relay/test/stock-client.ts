import { WebSocket } from "ws";
import { WebsocketProvider } from "y-websocket";
import * as Y from "yjs";

/** A stock y-websocket client: nothing of ours in it. */
export interface StockClient {
  readonly doc: Y.Doc;
  readonly provider: WebsocketProvider;
  /** Settles when the provider says it is synced. */
  synced(): Promise<void>;
  /** Settles when the document has at least this many records. */
  hasRecords(count: number): Promise<void>;
  push(...bytes: number[]): void;
  /** First byte of every record, in log order. */
  firstBytes(): number[];
  /** Settles with the code of a close the provider takes as final. */
  refused(): Promise<number>;
  destroy(): void;
}

export function openStockClient(url: string, room: string, doc: Y.Doc = new Y.Doc()): StockClient {
  const provider = new WebsocketProvider(url, room, doc, {
    disableBc: true,
    WebSocketPolyfill: WebSocket as unknown as typeof globalThis.WebSocket,
  });
  const entries = doc.getArray<Uint8Array>("entries");
  return {
    doc,
    provider,
    async synced() {
      if (provider.synced) return;
      await new Promise<void>((resolve) => provider.once("sync", () => resolve()));
    },
    async hasRecords(count) {
      while (entries.length < count) {
        await new Promise<void>((resolve) => doc.once("update", () => resolve()));
      }
    },
    push: (...bytes) => entries.push([new Uint8Array(bytes)]),
    firstBytes: () => entries.toArray().map((record) => record[0] as number),
    refused: () => new Promise((resolve) => provider.once("closed", ({ code }) => resolve(code))),
    destroy() {
      provider.destroy();
      provider.awareness.destroy();
    },
  };
}
