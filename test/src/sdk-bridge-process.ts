/** An agent of pi's SDK 1.6 on a session of a workspace; answers the calls of `sdk-bridge-calls.ts` over IPC. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openWorkspace, type SharedSession, type WebSocketConstructor, type Workspace } from "@coppice/client";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { type OpenedSessionManager, openSessionManager } from "@coppice/pi/sdk";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import {
  type AgentSession,
  createAgentSessionFromServices,
  createAgentSessionServices,
  SessionManager,
} from "pi-coding-agent-1-6";
import { WebSocket } from "ws";
import { answerCalls } from "./call-process.ts";
import { readModelRequests } from "./pi-home.ts";
import type { SdkBridgeCalls, SdkBridgeState } from "./sdk-bridge-calls.ts";

interface Opened {
  readonly workspace: Workspace;
  readonly shared: SharedSession;
  readonly bridge: OpenedSessionManager;
  readonly agent: AgentSession;
  readonly requestsPath: string;
  readonly told: string[];
  close(): Promise<void>;
}

const patientMs = 20_000;
const testExtension = fileURLToPath(new URL("../fixtures/pi-test-extension.mjs", import.meta.url));
let opened: Opened | undefined;

answerCalls<SdkBridgeCalls>({
  async open({ folder, deviceId, sessionId, relay }) {
    const cwd = join(folder, "project");
    const agentDir = join(folder, "agent");
    const requestsPath = join(folder, "requests.jsonl");
    for (const path of [cwd, agentDir]) await mkdir(path, { recursive: true });
    process.env.FAUX_REQUESTS = requestsPath;
    const store = await openLmdbStore({ path: join(folder, "store") });
    const workspace = await openWorkspace({
      store,
      device: { id: deviceId, name: deviceId },
      workspaceKey: new Uint8Array(32).fill(7),
      relay,
      webSocket: WebSocket as unknown as WebSocketConstructor,
      crypto: nodeRecordCrypto,
    });
    const shared = await openOrCreate(workspace, sessionId, relay !== undefined);
    const told: string[] = [];
    const bridge = await openSessionManager(SessionManager, shared, {
      cwd,
      onError: (error) => told.push(messageOf(error)),
    });
    const services = await createAgentSessionServices({
      cwd,
      agentDir,
      resourceLoaderOptions: { additionalExtensionPaths: [testExtension], noExtensions: true, noContextFiles: true },
    });
    const model = services.modelRuntime.getModel("faux", "plain");
    if (model === undefined) throw new Error("the extension has not brought its model");
    const { sessionManager } = bridge;
    const { session: agent } = await createAgentSessionFromServices({ services, sessionManager, model });
    await agent.bindExtensions({});
    const close = async (): Promise<void> => {
      agent.dispose();
      await workspace.close();
      await store.close();
    };
    opened = { workspace, shared, bridge, agent, requestsPath, told, close };
    return readState();
  },
  async prompt({ text }) {
    await get().agent.prompt(text);
    return readState();
  },
  async navigate({ entryId, summarize }) {
    await get().agent.navigateTree(entryId, { summarize });
    return readState();
  },
  async label({ entryId, label }) {
    get().bridge.sessionManager.appendLabelChange(entryId, label);
    return readState();
  },
  async send() {
    const { workspace, shared } = get();
    for (const part of [workspace, shared])
      if (!(await part.waitUntilAcknowledged(patientMs))) throw new Error("the relay has not taken everything");
    return null;
  },
  async receive({ entryId }) {
    const { storage } = get().shared;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${entryId} has not come`)), patientMs);
      const check = async (): Promise<void> => {
        if ((await storage.getEntry(entryId)) === undefined) return;
        clearTimeout(timer);
        stop();
        resolve();
      };
      const stop = storage.subscribe(() => void check().catch(reject));
      check().catch(reject);
    });
    return readState();
  },
  async breakSession() {
    const { agent, bridge, shared, told } = get();
    await shared.close();
    // The first one is heard of when its write fails, the next is refused at once.
    await agent.prompt("into the void").catch(() => undefined);
    const settled = await bridge.settled().then(() => "kept", messageOf);
    const before = bridge.sessionManager.getEntryCount();
    const turn = await agent.prompt("again").then(() => agent.state.errorMessage ?? "done", messageOf);
    return { told, settled, turn, kept: bridge.sessionManager.getEntryCount() - before };
  },
  async callRefused() {
    const { sessionManager } = get().bridge;
    const calls = [
      () => sessionManager.newSession(),
      () => sessionManager.setSessionFile("any.jsonl"),
      () => sessionManager.createBranchedSession(sessionManager.getLeafId() ?? ""),
    ];
    return calls.map((call) => {
      try {
        call();
        return "done";
      } catch (error) {
        return messageOf(error);
      }
    });
  },
  async close() {
    await opened?.close();
    return null;
  },
});

function get(): Opened {
  if (opened === undefined) throw new Error("nothing is open");
  return opened;
}

async function openOrCreate(workspace: Workspace, id: string, hasRelay: boolean): Promise<SharedSession> {
  if (hasRelay && !(await workspace.waitUntilSynced(patientMs))) throw new Error("the list has not come");
  if (!workspace.listSessions().some((listed) => listed.id === id))
    return workspace.createSession({ id, cwd: "/where/it/was/made" });
  const shared = await workspace.openSession(id);
  if (!shared.hasBeenFetched && !(await shared.waitUntilSynced(patientMs))) throw new Error("the session has not come");
  return shared;
}

async function readState(): Promise<SdkBridgeState> {
  const { bridge, shared, requestsPath } = get();
  await bridge.settled();
  const { storage } = shared;
  const entries: string[] = [];
  for (const { id } of await storage.getEntries()) entries.push((await storage.getEntryJson(id)) ?? "");
  const requests = await readModelRequests({ requestsPath }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return [];
  });
  return {
    piEntries: bridge.sessionManager.getEntries().map((entry) => JSON.stringify(entry)),
    piLeafId: bridge.sessionManager.getLeafId(),
    entries,
    leafId: await storage.getLeafId(),
    asked: (requests.at(-1)?.messages ?? []).map(({ role, content }) => ({ role, content })),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
