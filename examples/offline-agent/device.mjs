/** One device: what it keeps on its disk, and the agent that works there. */
import { join } from "node:path";
import { openWorkspace } from "@coppice/client";
import { withErrorClass } from "@coppice/core";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import { AgentHarness, Session, SessionError } from "@earendil-works/pi-agent-core";
import { NodeExecutionEnv } from "@earendil-works/pi-agent-core/node";
import { Type } from "@earendil-works/pi-ai";
import { WebSocket } from "ws";
import { createFauxModel } from "./model.mjs";

/** How long anything here waits for the relay; on one machine it takes a few milliseconds. */
export const patienceMs = 20_000;

/**
 * Opens a device's store and its workspace. Everything an agent appends is on this disk before it goes on. Without a
 * `relay` nothing leaves the machine, and it may be given at any later start.
 */
export async function openDevice({ folder, name, workspaceKey, relay }) {
  const store = await openLmdbStore({ path: join(folder, name) });
  const workspace = await openWorkspace({
    store,
    device: { id: `device-${name}`, name },
    workspaceKey,
    relay,
    webSocket: WebSocket,
    crypto: nodeRecordCrypto,
  });
  return {
    workspace,
    async close() {
      await workspace.close();
      await store.close();
    },
  };
}

/**
 * Starts pi's agent on a session of the workspace. The harness has what it has always had; that its session is shared
 * it does not know. `ask(text)` runs one turn, `requests` is what its model was sent.
 */
export function startAgent(shared) {
  const { models, model, requests } = createFauxModel();
  // This is all that it takes. pi looks for its own error class, so refusals come as that.
  const session = new Session(withErrorClass(shared.storage, SessionError));
  const env = new NodeExecutionEnv({ cwd: process.cwd() });
  const harness = new AgentHarness({ env, session, models, model, tools: createTools(shared) });
  return {
    requests,
    async ask(text) {
      // Others see that an agent is at work here, and nothing but its own appends moves its place.
      shared.setRunning(true);
      try {
        await harness.prompt(text);
      } finally {
        shared.setRunning(false);
      }
    },
  };
}

/** A tool that needs nothing but the session: it counts what all devices have written in it. */
function createTools(shared) {
  return [
    {
      name: "count",
      label: "Count",
      description: "Counts the session's entries that have this word in them",
      parameters: Type.Object({ word: Type.String() }),
      async execute(_id, { word }) {
        const entries = await shared.storage.getEntries();
        const found = entries.filter((entry) => JSON.stringify(entry).includes(word));
        return { content: [{ type: "text", text: `${found.length} entries` }], details: undefined };
      },
    },
  ];
}
