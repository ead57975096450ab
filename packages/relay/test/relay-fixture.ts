import { openRelay, type Relay, type RelayLimits } from "@coppice/relay";
import { afterEach } from "vitest";
import type * as Y from "yjs";
import { MemoryUpdateStore } from "./memory-update-store.ts";
import { RawClient } from "./raw-client.ts";
import { openStockClient, type StockClient } from "./stock-client.ts";

/** Things to close after a test, newest first. */
const cleanups: Array<() => void | Promise<void>> = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A relay on a free port, and clients of it; all closed after the test. */
export interface RelayFixture {
  readonly relay: Relay;
  readonly store: MemoryUpdateStore;
  raw(room: string): Promise<RawClient>;
  /** A raw client that sent an empty SyncStep1 and got the whole answer. */
  follower(room: string): Promise<RawClient>;
  stock(room: string, doc?: Y.Doc): StockClient;
}

export async function startRelay(
  limits: Partial<RelayLimits> = {},
  store: MemoryUpdateStore = new MemoryUpdateStore(),
  port = 0,
): Promise<RelayFixture> {
  const relay = await openRelay({ store, auth: "open", limits, port });
  cleanups.push(() => relay.close());
  const raw = async (room: string): Promise<RawClient> => {
    const client = await RawClient.open(`${relay.url}/${room}`);
    cleanups.push(() => client.socket.terminate());
    return client;
  };
  return {
    relay,
    store,
    raw,
    async follower(room) {
      const client = await raw(room);
      client.send({ type: "syncStep1", stateVector: new Map() });
      await client.take("syncStep2");
      await client.take("syncStep1");
      return client;
    },
    stock(room, doc) {
      const client = openStockClient(relay.url, room, doc);
      cleanups.push(() => client.destroy());
      return client;
    },
  };
}
