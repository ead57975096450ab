import { openWorkspace, type SharedSession, type Workspace } from "@coppice/client";
import { SessionError, type UpdateStore } from "@coppice/core";
import type { SimulatedNetwork } from "@coppice/testkit/simulation";
import { drawRandom } from "./determinism.ts";

/** What calls reject with while disks fail, processes end and a device does not have all yet. */
const ordinaryCodes = ["storage", "storage_full", "closed", "not_synced", "not_found", "invalid_fork_target"];

/** Where a process runs: whose device it is, its disk, and how it is killed there. */
export interface WorkspaceProcessOptions {
  readonly name: string;
  readonly deviceId: string;
  readonly workspaceKey: Uint8Array;
  readonly network: SimulatedNetwork;
  readonly openStore: () => { store: UpdateStore; kill(keepsCommit: boolean): void };
  readonly onViolation: (message: string) => void;
}

/** A process from its start to its end. */
interface ProcessRun {
  workspace?: Workspace;
  /** Undefined: being opened. */
  readonly sessions: Map<string, SharedSession | undefined>;
  kill(keepsCommit: boolean): void;
}

/** One process with the workspace open and, as a running `sync` has them, all its sessions. */
export class WorkspaceProcess {
  readonly name: string;
  readonly deviceId: string;
  readonly #options: WorkspaceProcessOptions;
  #run: ProcessRun | undefined;

  constructor(options: WorkspaceProcessOptions) {
    this.name = options.name;
    this.deviceId = options.deviceId;
    this.#options = options;
  }

  get workspace(): Workspace | undefined {
    return this.#run?.workspace;
  }

  /** Open sessions that this process may write to, by id. */
  get sessions(): ReadonlyMap<string, SharedSession> {
    const fetched = [...(this.#run?.sessions ?? [])].filter(([, session]) => session?.hasBeenFetched);
    return new Map(fetched as [string, SharedSession][]);
  }

  start(): void {
    if (this.#run !== undefined) return;
    const { name, deviceId, workspaceKey, network, openStore } = this.#options;
    const { store, kill } = openStore();
    const run: ProcessRun = { sessions: new Map(), kill };
    this.#run = run;
    const opening = openWorkspace({
      store,
      device: { id: deviceId, name: deviceId },
      workspaceKey,
      relay: "ws://relay.test",
      webSocket: network.createWebSocketClass(name),
      random: drawRandom,
    });
    this.watch(
      opening.then((workspace) => {
        run.workspace = workspace;
      }),
    );
  }

  /** Opens what is listed; called after every step, as an app would on a change. */
  openSessions(): void {
    const run = this.#run;
    for (const { id } of run?.workspace?.listSessions() ?? []) {
      if (run === undefined || run.sessions.has(id)) continue;
      run.sessions.set(id, undefined);
      this.watch(
        (run.workspace as Workspace).openSession(id).then(
          (session) => {
            run.sessions.set(id, session);
          },
          (error: unknown) => {
            run.sessions.delete(id);
            throw error;
          },
        ),
      );
    }
  }

  /** `kill -9`. True when it was running. */
  crash(keepsCommit: boolean): boolean {
    const run = this.#run;
    if (run === undefined) return false;
    this.#options.network.kill(this.name);
    run.kill(keepsCommit);
    this.#run = undefined;
    return true;
  }

  /** Looks after a call that nobody waits for. */
  watch(made: Promise<unknown>): void {
    made.catch((error: unknown) => {
      if (!(error instanceof SessionError) || !ordinaryCodes.includes(error.code))
        this.#options.onViolation(`${this.name}: ${String(error)}`);
    });
  }
}
