/** The least a relay can do: every message of a socket goes to the other sockets of its path. Keeps and checks nothing. */
import { WebSocketServer } from "ws";
import { hostRelay } from "./host-relay.mjs";

const socketsByPath = new Map();
const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
server.on("connection", (socket, { url }) => {
  const room = socketsByPath.get(url) ?? new Set();
  socketsByPath.set(url, room.add(socket));
  socket.on("message", (message) => {
    for (const other of room) if (other !== socket) other.send(message, { binary: true });
  });
  socket.on("close", () => room.delete(socket));
});
server.on("listening", () => {
  hostRelay({ url: `ws://127.0.0.1:${server.address().port}`, close: async () => server.close() });
});
