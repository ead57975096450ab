/**
 * `@hocuspocus/server`, which holds a Y.Doc per room. When rooms are to be kept, each is one file with its whole state,
 * written where Hocuspocus stores (some seconds after a change, and when the last socket leaves), never synced to the
 * disk: less work than its own extension for databases.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Server } from "@hocuspocus/server";
import { applyUpdate, encodeStateAsUpdate } from "yjs";
import { hostRelay, keepsRooms } from "../programs/host-relay.mjs";

const folder = join(process.argv[2], "rooms");
mkdirSync(folder, { recursive: true });
const pathOf = (name) => join(folder, name);

const storage = {
  onLoadDocument: async ({ documentName, document }) => {
    if (existsSync(pathOf(documentName))) applyUpdate(document, new Uint8Array(readFileSync(pathOf(documentName))));
  },
  onStoreDocument: async ({ documentName, document }) =>
    writeFileSync(pathOf(documentName), encodeStateAsUpdate(document)),
};
const server = new Server({
  port: 0,
  address: "127.0.0.1",
  quiet: true,
  stopOnSignals: false,
  ...(keepsRooms ? storage : {}),
});
await server.listen();
hostRelay({ url: `ws://127.0.0.1:${server.address.port}`, close: () => server.destroy() });
