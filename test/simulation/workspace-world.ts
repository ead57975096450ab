import { SimulatedDisk, SimulatedNetwork, type VirtualTime } from "@coppice/testkit/simulation";
import { int32, type PRNG } from "lib0/prng";
import { SimulatedRelay } from "./simulated-relay.ts";
import { FieldClaims } from "./workspace-claims.ts";
import { WorkspaceProcess } from "./workspace-process.ts";
import type { WorkspaceStep } from "./workspace-steps.ts";

const workspaceKey = new Uint8Array(32).fill(9);
const devices = 3;

/** How often each thing was done and is known to be on disk. */
export interface WorkspaceCounts {
  create: number;
  append: number;
  fork: number;
  rename: number;
  archive: number;
  unarchive: number;
  delete: number;
  crash: number;
  secondProcessWrote: number;
}

/** Counts of nothing yet. */
export function createWorkspaceCounts(): WorkspaceCounts {
  return {
    create: 0,
    append: 0,
    fork: 0,
    rename: 0,
    archive: 0,
    unarchive: 0,
    delete: 0,
    crash: 0,
    secondProcessWrote: 0,
  };
}

/** Three devices, the first with two processes on its disk, and a relay, in virtual time (SPEC SM34-SM36). */
export class WorkspaceWorld {
  readonly counts: WorkspaceCounts = createWorkspaceCounts();
  readonly #time: VirtualTime;
  readonly #network: SimulatedNetwork;
  readonly #relay: SimulatedRelay;
  /** The second process of the first device stands last. */
  readonly #processes: WorkspaceProcess[] = [];
  readonly #violations: string[] = [];
  /** Sessions whose making was resolved, with the one they were forked from. */
  readonly #made = new Map<string, string | undefined>();
  readonly #deletedIds = new Set<string>();
  /** Texts by session that must not be lost. */
  readonly #texts = new Map<string, Set<string>>();
  readonly #names = new FieldClaims();
  readonly #archived = new FieldClaims();
  #isCalm = true;
  #count = 0;

  constructor(time: VirtualTime, choices: PRNG) {
    this.#time = time;
    this.#network = new SimulatedNetwork({
      latencyMs: () => (this.#isCalm ? 5 : int32(choices, 1, 120)),
      onMessage: () => "deliver",
    });
    const createDisk = (): SimulatedDisk =>
      new SimulatedDisk({ commitMs: () => 2, readMs: () => (this.#isCalm ? 0 : int32(choices, 0, 15)) });
    this.#relay = new SimulatedRelay(this.#network, createDisk(), (message) => this.#violate(`The relay: ${message}`));
    const disks = Array.from({ length: devices }, createDisk);
    for (const [at, disk] of [...disks, disks[0] as SimulatedDisk].entries()) {
      const isSecond = at === devices;
      this.#processes.push(
        new WorkspaceProcess({
          name: isSecond ? "device0-second" : `device${at}`,
          deviceId: `00000000-0000-7000-8000-00000000000${isSecond ? 0 : at}`,
          workspaceKey,
          network: this.#network,
          openStore: () => disk.openBeside(),
          onViolation: (message) => this.#violate(message),
        }),
      );
    }
  }

  /** Starts everything; one session is made and everywhere. */
  async begin(): Promise<void> {
    this.#relay.start();
    for (const process of this.#processes) process.start();
    await this.#passUntil("all are open", () => this.#processes.every(({ workspace }) => workspace !== undefined));
    this.#create(this.#process(0));
    await this.#passUntil("all have the first session", () =>
      this.#processes.every(({ sessions }) => sessions.size === 1),
    );
    this.#isCalm = false;
  }

  /** Does one step and lets its time pass. */
  async take(step: WorkspaceStep): Promise<void> {
    await this.#act(step);
    await this.#time.advance(step.thenMs);
    this.check();
  }

  /** What must be true at every moment. Throws the first violations since the beginning. */
  check(): void {
    for (const process of this.#processes) {
      process.openSessions();
      const ids = process.workspace?.listSessions({ deleted: true }).map(({ id }) => id) ?? [];
      if (new Set(ids).size !== ids.length) this.#violate(`${process.name} lists a session twice`);
    }
    if (this.#violations.length > 0) throw new Error(this.#violations.slice(0, 5).join("\n"));
  }

  /** Ends all trouble, waits until everybody is in step, and checks what must be true then. */
  async heal(): Promise<void> {
    this.#isCalm = true;
    this.#relay.start();
    for (const process of this.#processes) {
      this.#network.setOnline(process.name, true);
      process.start();
    }
    await this.#passUntil("all lists and logs are equal and nothing waits", () => this.#isInStep());
    await this.#checkNothingLost();
    this.check();
  }

  async #act(step: WorkspaceStep): Promise<void> {
    switch (step.kind) {
      case "start relay":
        return this.#relay.start();
      case "crash relay":
        return this.#relay.crash(false);
      case "create":
        return this.#create(this.#process(step.process));
      case "start":
        return this.#process(step.process).start();
      case "offline":
      case "online":
        return this.#network.setOnline(this.#process(step.process).name, step.kind === "online");
      case "crash":
        if (this.#process(step.process).crash(step.keepsCommit)) this.counts.crash += 1;
        return;
      default:
        return this.#actInSession(step.kind, this.#process(step.process), step.pick);
    }
  }

  #create(process: WorkspaceProcess): void {
    const { workspace } = process;
    if (workspace === undefined) return;
    const id = `session-${++this.#count}`;
    this.#do("create", process, workspace.createSession({ id, cwd: "/work" }), () => this.#made.set(id, undefined));
  }

  async #actInSession(
    kind: "append" | "fork" | "rename" | "archive" | "unarchive" | "delete",
    process: WorkspaceProcess,
    pick: number,
  ): Promise<void> {
    const { workspace, sessions } = process;
    // A session that is deleted takes part no more.
    const ids = workspace?.listSessions().map(({ id }) => id) ?? [];
    const id = ids.sort()[pick % Math.max(1, ids.length)];
    const session = sessions.get(id ?? "");
    if (workspace === undefined || id === undefined || session === undefined) return;
    const text = `${process.name} ${++this.#count}`;
    if (kind === "append")
      this.#do(kind, process, session.session.appendMessage({ role: "user", content: text }), () =>
        this.#keep(id, text),
      );
    else if (kind === "rename") {
      const resolve = this.#names.add(id, process.name, text);
      this.#do(kind, process, workspace.renameSession(id, text), resolve);
    } else if (kind === "archive" || kind === "unarchive") {
      const isArchived = kind === "archive";
      const resolve = this.#archived.add(id, process.name, isArchived);
      const made = isArchived ? workspace.archiveSession(id) : workspace.unarchiveSession(id);
      this.#do(kind, process, made, resolve);
    } else if (kind === "delete")
      this.#do(kind, process, workspace.deleteSession(id, 2_000), () => this.#deletedIds.add(id));
    else {
      const entries = (await session.storage.getEntries()).filter(({ type }) => type === "message");
      const entryId = entries[pick % Math.max(1, entries.length)]?.id;
      const forkId = `fork-${++this.#count}`;
      if (entryId === undefined) return;
      const made = workspace.forkSession(id, { id: forkId, entryId, position: "at", cwd: "/work" });
      this.#do(kind, process, made, () => this.#made.set(forkId, id));
    }
  }

  #do(kind: keyof WorkspaceCounts, process: WorkspaceProcess, made: Promise<unknown>, onResolved: () => void): void {
    process.watch(
      made.then(() => {
        this.counts[kind] += 1;
        if (process === this.#processes[devices]) this.counts.secondProcessWrote += 1;
        onResolved();
      }),
    );
  }

  #keep(sessionId: string, text: string): void {
    const texts = this.#texts.get(sessionId) ?? new Set();
    this.#texts.set(sessionId, texts.add(text));
  }

  async #isInStep(): Promise<boolean> {
    const lists = new Set<string>();
    for (const { workspace, sessions } of this.#processes) {
      if (workspace === undefined) return false;
      const listed = workspace.listSessions().sort((left, right) => (left.id < right.id ? -1 : 1));
      const open = listed.map(({ id }) => sessions.get(id));
      const statuses = [workspace.status(), ...open.map((session) => session?.status())];
      if (statuses.some((status) => status?.relay.state !== "live" || status.pending > 0 || status.unsaved > 0))
        return false;
      const ids = open.map(async (session) => (await session?.storage.getEntries())?.map(({ id }) => id));
      lists.add(describeList(workspace) + JSON.stringify(await Promise.all(ids)));
    }
    return lists.size === 1;
  }

  async #checkNothingLost(): Promise<void> {
    for (const { name, workspace, sessions } of this.#processes) {
      const listed = new Map(workspace?.listSessions({ deleted: true }).map((session) => [session.id, session]));
      for (const [id, parentId] of this.#made) {
        const session = listed.get(id);
        if (session === undefined) this.#violate(`${name} does not list ${id}`);
        else if (session.parentSession !== parentId) this.#violate(`${name} has ${id} from ${session.parentSession}`);
      }
      for (const session of listed.values()) {
        const { id } = session;
        if (this.#deletedIds.has(id) && !session.deleted) this.#violate(`${name} lists ${id}, which was deleted`);
        if (!this.#archived.allows(id, session.archived, false))
          this.#violate(`${name}: nobody's last word was that ${id} is ${session.archived ? "" : "not "}archived`);
        const isInherited = session.parentSession !== undefined && this.#names.wasSaid(session.name);
        if (!session.deleted && !this.#names.allows(id, session.name, isInherited ? session.name : undefined))
          this.#violate(`${name}: nobody's last name for ${id} was ${session.name}`);
        if (session.deleted) continue;
        const entries = (await sessions.get(id)?.storage.getEntries()) ?? [];
        const held = JSON.stringify(entries);
        for (const text of this.#texts.get(id) ?? [])
          if (!held.includes(JSON.stringify(text))) this.#violate(`${name} lost "${text}" of ${id}`);
        const ids = entries.map((entry) => entry.id);
        if (new Set(ids).size !== ids.length) this.#violate(`${name} has an entry of ${id} twice`);
      }
    }
  }

  async #passUntil(what: string, isReached: () => boolean | Promise<boolean>): Promise<void> {
    for (let ms = 0; ms < 90_000; ms += 100) {
      if (await isReached()) return this.check();
      await this.#time.advance(100);
      this.check();
    }
    const states = this.#processes.map(
      ({ name, workspace, sessions }) =>
        `${name}: ${workspace && describeList(workspace)} ${JSON.stringify(workspace?.status())} ${[...sessions]
          .map(([id, session]) => `${id} ${JSON.stringify(session.status())}`)
          .join(", ")}`,
    );
    throw new Error([`Not within 90 s: ${what}`, ...states].join("\n"));
  }

  #process(at: number): WorkspaceProcess {
    return this.#processes[at % this.#processes.length] as WorkspaceProcess;
  }

  #violate(message: string): void {
    this.#violations.push(message);
  }
}

/** All that devices must agree on, as one text. */
function describeList(workspace: NonNullable<WorkspaceProcess["workspace"]>): string {
  const sessions = workspace
    .listSessions({ deleted: true })
    .map(({ id, name, archived, deleted, parentSession }) => ({ id, name, archived, deleted, parentSession }));
  return JSON.stringify(sessions.sort((left, right) => (left.id < right.id ? -1 : 1)));
}
