import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NodeExecutionEnv } from "pi-agent-core-0-80/node";
import type { SessionManager } from "pi-coding-agent-1-6";
import { type Generation, pi } from "./pi-packages.ts";

/** A reader of session files: the agent core of a generation, or the coding agent 1.6, which brought its own. */
export type PiReader = Generation | "1.6";

/** What one of pi's own readers makes of a file. */
export interface PiReading {
  /** Ids of the entries in the order of the file. */
  readonly ids: readonly string[];
  readonly leafId: string | null;
  readonly branchIds: readonly string[];
  /** As JSON, since pi leaves fields undefined that a file cannot hold. */
  readonly context: { readonly messages: readonly { readonly role: string }[]; readonly [state: string]: unknown };
  readonly name: string | undefined;
  /** By entry; trimmed, which 1.6 does not do. */
  readonly labels: Readonly<Record<string, string>>;
}

/** In the order in which they came out. */
export const piReaders: readonly PiReader[] = ["0.80", "0.82", "1.6"];

/** The session manager of pi's coding agent 1.6: the package's entry, which exports it, needs Node 22 for other things. */
export const { SessionManager: PiSessionManager }: { SessionManager: typeof SessionManager } = await import(
  new URL("core/session-manager.js", import.meta.resolve("pi-coding-agent-1-6")).href
);

/** Reads a file with pi's own code; a copy of it, since 1.6 writes to what it opens. Rejects as pi does. */
export async function readWithPi(reader: PiReader, path: string): Promise<PiReading> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-pi-reader-"));
  try {
    const copy = join(folder, "session.jsonl");
    await copyFile(path, copy);
    return toJsonValues(reader === "1.6" ? readWithCodingAgent(copy) : await readWithAgentCore(reader, copy));
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function readWithAgentCore(generation: Generation, path: string): Promise<PiReading> {
  const { JsonlSessionStorage, Session } = pi[generation].core;
  const storage = await JsonlSessionStorage.open(new NodeExecutionEnv({ cwd: "/" }), path);
  const session = new Session(storage);
  const ids = (await session.getEntries()).map(({ id }) => id);
  const labels: Record<string, string> = {};
  for (const { targetId } of await storage.findEntries("label")) {
    const label = await session.getLabel(targetId);
    if (label !== undefined) labels[targetId] = label;
  }
  return {
    ids,
    leafId: await session.getLeafId(),
    branchIds: (await session.getBranch()).map(({ id }) => id),
    context: { ...(await session.buildContext()) },
    name: await session.getSessionName(),
    labels,
  };
}

function readWithCodingAgent(path: string): PiReading {
  const manager = PiSessionManager.open(path);
  const entries = manager.getEntries();
  const labels: Record<string, string> = {};
  for (const entry of entries) {
    const label = entry.type === "label" ? manager.getLabel(entry.targetId)?.trim() : undefined;
    if (entry.type === "label" && label) labels[entry.targetId] = label;
  }
  return {
    ids: entries.map(({ id }) => id),
    leafId: manager.getLeafId(),
    branchIds: manager.getBranch().map(({ id }) => id),
    context: { ...manager.buildSessionContext() },
    name: manager.getSessionName(),
    labels,
  };
}

function toJsonValues(reading: PiReading): PiReading {
  return JSON.parse(JSON.stringify(reading));
}
