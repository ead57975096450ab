import { setTimeout as sleep } from "node:timers/promises";
import type { Workspace } from "@coppice/client";
import { SessionError } from "@coppice/core";
import { SyncSwitches } from "@coppice/home";
import { readSessionFile } from "@coppice/storage-jsonl";
import { describeMirror } from "./mirror-status.ts";
import { MirroredSession } from "./mirrored-session.ts";
import { findSession, newsWaitMs, openSession } from "./open-session.ts";
import { type OpenedPiHome, openPiHome, readGitHints } from "./pi-home.ts";
import type {
  DevicesAnswer,
  EngineEvent,
  EngineHandlers,
  EngineRequests,
  EngineStart,
  FlushAnswer,
  InspectAnswer,
  ListedSession,
  MirrorAnswer,
  MirrorBegin,
} from "./protocol.ts";
import type { TakingInOptions } from "./taking-in.ts";

/** How long the engine works on something long, and then pauses, while pi runs an agent, in ms. */
const workPieceMs = 15;
const workPauseMs = 60;
/** A status is told at most this often, in ms. */
const statusIntervalMs = 100;

/** Opens the engine: what it does, by the names of the requests. Nothing is opened before the first one. */
export function openEngine(start: EngineStart, emit: (event: EngineEvent) => void): EngineHandlers {
  const engine = new Engine(start, emit);
  return {
    inspect: (given) => engine.inspect(given),
    mirror: (given) => engine.mirror(given),
    look: ({ sessionId, ...look }) => engine.require(sessionId).look(look),
    give: async ({ sessionId, lines }) => {
      await engine.require(sessionId).give(lines);
      return undefined;
    },
    takeForeign: ({ sessionId, ids }) => engine.require(sessionId).takeForeign(ids),
    setRunning: async ({ sessionId, isRunning }) => {
      engine.setRunning(sessionId, isRunning);
      return undefined;
    },
    flush: ({ sessionId, relayWaitMs }) => engine.flush(sessionId, relayWaitMs),
    leave: async ({ sessionId }) => {
      await engine.leave(sessionId);
      return undefined;
    },
    devices: ({ sessionId }) => engine.listDevices(sessionId),
    sessions: async () => listSessions((await engine.openFreshHome()).workspace),
    find: async ({ reference }) => findSession(await engine.openHome(), reference),
    open: async (given) => openSession(await engine.openHome(), given),
    pair: async ({ text }) => {
      // Loaded only now: a device is paired once.
      const { pair } = await import("./pairing.ts");
      return pair(start.homeFolder, text);
    },
    countSessions: async (given) => {
      const { countSessions } = await import("./taking-in.ts");
      return countSessions(given);
    },
    survey: (given) => engine.takeInWith(({ surveySessions }, options) => surveySessions(given, options)),
    takeIn: ({ files }) => engine.takeInWith(({ takeInFiles }, options) => takeInFiles(files, options)),
    stopTakingIn: async () => {
      engine.stopTakingIn();
      return undefined;
    },
    close: async () => {
      await engine.close();
      return undefined;
    },
  };
}

/** What is open in the worker: the home, its workspace, and the sessions that pi mirrors. */
class Engine {
  readonly #start: EngineStart;
  readonly #emit: (event: EngineEvent) => void;
  readonly #mirrored = new Map<string, Mirrored>();
  /** Sessions on which pi runs an agent. */
  readonly #runningIds = new Set<string>();
  #home: Promise<OpenedPiHome> | undefined;
  #takingIn: { readonly abort: AbortController; readonly work: Promise<unknown> } | undefined;
  #isClosed = false;

  constructor(start: EngineStart, emit: (event: EngineEvent) => void) {
    this.#start = start;
    this.#emit = emit;
  }

  /** The workspace of the home, opened once. A failed opening is tried again by the next request. */
  async openHome(): Promise<OpenedPiHome> {
    if (this.#isClosed) throw new SessionError("closed", "The engine has been closed.");
    this.#home ??= openPiHome(this.#start.homeFolder);
    try {
      return await this.#home;
    } catch (error) {
      this.#home = undefined;
      throw error;
    }
  }

  /** As `openHome`, with what the relay knows of sessions and devices, as far as it answers soon. */
  async openFreshHome(): Promise<OpenedPiHome> {
    const home = await this.openHome();
    // At once when it is in step, and when the relay cannot be reached: what is here is shown then.
    await home.workspace.waitUntilSynced(newsWaitMs);
    return home;
  }

  /** Says whether an agent runs on a session, which may still be on its way in. */
  setRunning(sessionId: string, isRunning: boolean): void {
    if (isRunning) this.#runningIds.add(sessionId);
    else this.#runningIds.delete(sessionId);
    this.#mirrored.get(sessionId)?.session.session.setRunning(isRunning);
  }

  /** The mirrored session of an id; throws `not_found`. */
  require(sessionId: string): MirroredSession {
    const mirrored = this.#mirrored.get(sessionId);
    if (mirrored === undefined) throw new SessionError("not_found", `Session ${sessionId} is not mirrored.`);
    return mirrored.session;
  }

  async inspect({ sessionId, file }: EngineRequests["inspect"]["given"]): Promise<InspectAnswer> {
    const { workspace } = await this.openHome();
    if (workspace.listSessions().some(({ id }) => id === sessionId)) return { isKnown: true, secrets: [] };
    // Loaded only now: most sessions are known.
    const { countSecrets } = await import("./secret-scan.ts");
    const entries = readEntries(file);
    return {
      isKnown: false,
      secrets: await countSecrets(
        entries,
        createRest(() => this.#runningIds.size > 0),
      ),
    };
  }

  async listDevices(sessionId: string | undefined): Promise<DevicesAnswer> {
    const { workspace, relay } = await this.openFreshHome();
    const cursors = this.#mirrored.get(sessionId ?? "")?.session.session.getCursors() ?? [];
    const devices = workspace.devices().map(({ id, name, isThis }) => {
      const here = cursors.filter(({ deviceId }) => deviceId === id);
      return { name, isThis, isPresent: here.length > 0, isRunning: here.some(({ running }) => running === true) };
    });
    return { ...(relay === undefined ? {} : { relay }), devices };
  }

  async mirror(begin: MirrorBegin): Promise<MirrorAnswer> {
    const { sessionId, cwd } = begin;
    await this.leave(sessionId);
    const [{ workspace, relay }, git] = await Promise.all([this.openHome(), readGitHints(cwd)]);
    const { mirrored, answer } = await MirroredSession.open({
      workspace,
      begin,
      git,
      rest: createRest(() => this.#runningIds.size > 0),
      onProgress: (entries) => this.#emit({ type: "progress", sessionId, entries }),
      onUnknownLines: (ids) => this.#emit({ type: "unknownLines", sessionId, ids }),
      onError: (error) => this.#emit({ type: "problem", sessionId, reason: toReason(error) }),
    });
    const watch = new StatusWatch(workspace, mirrored, relay !== undefined, this.#emit);
    this.#mirrored.set(sessionId, { session: mirrored, watch });
    return answer;
  }

  async flush(sessionId: string, relayWaitMs: number): Promise<FlushAnswer> {
    const mirrored = this.require(sessionId);
    await mirrored.flush();
    const { workspace } = await this.openHome();
    const isOnline = (): boolean => workspace.overallStatus().relay.state === "live";
    if (relayWaitMs > 0 && isOnline()) {
      await Promise.all([
        mirrored.session.waitUntilAcknowledged(relayWaitMs),
        workspace.waitUntilAcknowledged(relayWaitMs),
      ]);
    }
    return { waiting: workspace.overallStatus().pending };
  }

  /** Looks at or takes in sessions of this device, one such thing at a time. */
  async takeInWith<Value>(
    use: (takingIn: typeof import("./taking-in.ts"), options: TakingInOptions) => Promise<Value>,
  ): Promise<Value> {
    if (this.#takingIn !== undefined) throw new SessionError("closed", "Sessions are taken in already.");
    const abort = new AbortController();
    const run = async (): Promise<Value> => {
      // Loaded only now: it is done once or twice on a device.
      const [takingIn, { workspace }] = await Promise.all([import("./taking-in.ts"), this.openFreshHome()]);
      return use(takingIn, {
        workspace,
        switches: new SyncSwitches(this.#start.homeFolder),
        rest: createRest(() => this.#runningIds.size > 0),
        onStep: (step) => this.#emit({ type: "takingIn", step }),
        signal: abort.signal,
      });
    };
    const work = run();
    this.#takingIn = { abort, work };
    try {
      return await work;
    } finally {
      this.#takingIn = undefined;
    }
  }

  stopTakingIn(): void {
    this.#takingIn?.abort.abort();
  }

  async leave(sessionId: string): Promise<void> {
    const mirrored = this.#mirrored.get(sessionId);
    if (mirrored === undefined) return;
    this.#mirrored.delete(sessionId);
    mirrored.watch.stop();
    await mirrored.session.close();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.stopTakingIn();
    // Whoever asked for it hears how it ended.
    await Promise.allSettled([this.#takingIn?.work]);
    try {
      await Promise.all([...this.#mirrored.keys()].map((id) => this.leave(id)));
    } finally {
      // A home that could not be opened has nothing to close.
      const home = await this.#home?.catch(() => undefined);
      await home?.close();
    }
  }
}

function listSessions(workspace: Workspace): ListedSession[] {
  const time = ({ lastActivityAt, createdAt }: ListedSession): number => lastActivityAt ?? Date.parse(createdAt);
  return workspace
    .listSessions({ archived: false })
    .map(({ id, name, createdAt, lastActivityAt, gitRemote }) => ({
      id,
      ...(name === undefined ? {} : { name }),
      createdAt,
      ...(lastActivityAt === undefined ? {} : { lastActivityAt }),
      ...(gitRemote === undefined ? {} : { gitRemote }),
    }))
    .sort((left, right) => time(right) - time(left));
}

async function* readEntries(file: string): AsyncGenerator<unknown> {
  for await (const { entry } of await readSessionFile(file)) yield entry;
}

/** While an agent runs, long work is done in short pieces with pauses between them: a prompt is not to be delayed. */
function createRest(isBusy: () => boolean): () => Promise<void> {
  let beganMs = performance.now();
  return async () => {
    if (!isBusy() || performance.now() - beganMs < workPieceMs) return;
    await sleep(workPauseMs);
    beganMs = performance.now();
  };
}

interface Mirrored {
  readonly session: MirroredSession;
  readonly watch: StatusWatch;
}

/** Tells of a session's status after changes, the last one always. */
class StatusWatch {
  readonly #tell: () => Promise<void>;
  readonly #stops: (() => void)[];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;

  constructor(
    workspace: Workspace,
    { session }: MirroredSession,
    hasRelay: boolean,
    emit: (event: EngineEvent) => void,
  ) {
    let told = "";
    this.#tell = async () => {
      const status = await describeMirror(workspace, session, hasRelay);
      const text = JSON.stringify(status);
      if (this.#isStopped || text === told) return;
      told = text;
      emit({ type: "status", status });
    };
    this.#stops = [workspace.subscribe(() => this.#soon()), session.subscribe(() => this.#soon())];
    this.#soon();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const stop of this.#stops) stop();
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#tell().catch((error: unknown) => {
        // A session that was closed meanwhile has no status any more.
        if (!this.#isStopped) throw error;
      });
    }, statusIntervalMs);
  }
}

function toReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
