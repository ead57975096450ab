/**
 * `@y/websocket-server`, which holds a Y.Doc per room. It ships no storage; when rooms are to be kept, each is one file
 * with its whole state, written when the last socket leaves and never synced to the disk: less work than any real one.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { setPersistence, setupWSConnection } from "@y/websocket-server/utils";
import { WebSocketServer } from "ws";
// The very copy that the server uses.
import { applyUpdate, encodeStateAsUpdate } from "yjs-14";
import { hostRelay, keepsRooms } from "../programs/host-relay.mjs";

const folder = join(process.argv[2], "rooms");
mkdirSync(folder, { recursive: true });
const pathOf = (name) => join(folder, name);

if (keepsRooms) {
  setPersistence({
    provider: null,
    bindState: (name, doc) => {
      if (existsSync(pathOf(name))) applyUpdate(doc, new Uint8Array(readFileSync(pathOf(name))));
    },
    writeState: async (name, doc) => writeFileSync(pathOf(name), encodeStateAsUpdate(doc)),
  });
}

const http = createServer();
const server = new WebSocketServer({ server: http, perMessageDeflate: false });
server.on("connection", setupWSConnection);
http.listen(0, "127.0.0.1", () => {
  hostRelay({ url: `ws://127.0.0.1:${http.address().port}`, close: async () => http.close() });
});
