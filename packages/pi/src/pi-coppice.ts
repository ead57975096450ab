import { OpenMarks, type SwitchState, SyncSwitches } from "@coppice/home";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { EngineClient } from "./engine-client.ts";
import type { DevicesAnswer, ListedSession, OpenAnswer, PairAnswer } from "./protocol.ts";
import { SessionImport } from "./session-import.ts";
import { SessionSync } from "./session-sync.ts";
import { describePhase } from "./sync-phase.ts";

/** One session of pi: whether it is shared, who says so, and what mirrors it. */
export class PiCoppice {
  readonly #ctx: ExtensionContext;
  readonly #homeFolder: string;
  readonly #switches: SyncSwitches;
  readonly #marks: OpenMarks;
  /** What mirrors the session while it is on. */
  readonly sync: SessionSync;
  /** What takes in the sessions that pi has on this device. */
  readonly sessionImport: SessionImport;
  /** Started for questions while the session is not mirrored. */
  readonly #askedEngines = new Set<EngineClient>();
  #isPaused = false;
  #isRunning = false;
  #hasMark = false;
  #isEnded = false;

  constructor(pi: ExtensionAPI, ctx: ExtensionContext, homeFolder: string) {
    this.#ctx = ctx;
    this.#homeFolder = homeFolder;
    this.#switches = new SyncSwitches(homeFolder);
    this.#marks = new OpenMarks(homeFolder);
    this.sync = new SessionSync({
      pi,
      ctx,
      homeFolder,
      onDeclined: () => this.#switches.setSession(this.#sessionId, false),
      onTakingIn: (step) => this.sessionImport.show(step),
    });
    this.sessionImport = new SessionImport(ctx, (use) => this.#ask(use));
  }

  /** pi has opened the session: it is shared from now on when a switch says so. */
  start(): void {
    if (this.#isEnded) return;
    try {
      if (this.#readSwitch().sync) this.#turnOn();
      else this.sync.show();
    } catch (error) {
      // Nothing is shared on a guess, and pi goes on.
      const why = error instanceof Error ? error.message : String(error);
      this.sync.refuse(why);
      this.#ctx.ui.notify(`Coppice: ${why}`, "warning");
    }
  }

  /** pi leaves the session. Settles when everything is saved, within a bounded time. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.sessionImport.end();
    try {
      await Promise.all([...this.#askedEngines].map((engine) => engine.close(engineCloseMs)));
      await this.sync.end();
    } finally {
      if (this.#hasMark) this.#marks.remove(this.#sessionId);
    }
  }

  /** An agent runs here, or has ended. */
  setRunning(isRunning: boolean): void {
    this.#isRunning = isRunning;
    this.sync.setRunning(isRunning);
    for (const engine of this.#askedEngines) {
      // A worker that has gone is told of to whoever waits for its answer.
      engine.request("setRunning", { sessionId: this.#sessionId, isRunning }).catch(() => undefined);
    }
  }

  /** Switches the session, or every session of the folder, on. Returns what to say. Throws `storage`. */
  switchOn(what: "session" | "project"): string {
    if (what === "session") this.#switches.setSession(this.#sessionId, true);
    else this.#switches.setProject(this.#ctx.cwd, true);
    const state = this.#readSwitch();
    if (!state.sync)
      return `Sessions of ${this.#ctx.cwd} are shared from now on; this one stays off by its own switch.`;
    this.#turnOn();
    if (what === "project") return `Sessions of ${this.#ctx.cwd} are shared with your devices from now on.`;
    return "This session is shared with your devices from now on.";
  }

  /** Switches the session, or every session of the folder, off. Returns what to say. */
  async switchOff(what: "session" | "project"): Promise<string> {
    if (what === "session") this.#switches.setSession(this.#sessionId, false);
    else this.#switches.setProject(this.#ctx.cwd, false);
    const state = this.#readSwitch();
    if (state.sync) return `Sessions of ${this.#ctx.cwd} stay on this device; this one is shared by its own switch.`;
    await this.sync.turnOff({ kind: "off" });
    return "Nothing leaves pi from now on. What is shared stays with your devices.";
  }

  /** Lets nothing leave pi until `resume`. Returns what to say. */
  async pause(): Promise<string> {
    if (!this.#readSwitch().sync) return "This session is not shared; there is nothing to pause.";
    this.#isPaused = true;
    await this.sync.turnOff({ kind: "paused" });
    return "Paused: nothing leaves pi until /coppice resume.";
  }

  /** Goes on after a pause; everything since then follows. Returns what to say. */
  resume(): string {
    if (!this.#isPaused) return "Coppice is not paused.";
    this.#turnOn();
    return "Going on; everything since the pause follows.";
  }

  /** What is shared, where, and why, in a few lines. */
  async describe(): Promise<string> {
    const state = this.#readSwitch();
    const { phase } = this.sync;
    const lines = [describePhase(phase), describeSwitch(state)];
    if (phase.kind === "off" && phase.why !== undefined) lines.push(phase.why);
    if (phase.kind === "mirroring") {
      const { relay, devices } = await this.listDevices();
      lines.push(relay === undefined ? "This workspace has no relay: other devices cannot get it." : `Relay: ${relay}`);
      const here = devices.filter(({ isPresent }) => isPresent);
      const names = here.map(
        ({ name, isThis, isRunning }) =>
          `${name}${isThis ? " (this device)" : ""}${isRunning ? ", an agent runs" : ""}`,
      );
      lines.push(`Open on: ${names.join("; ") || "this device"}`);
    } else if (!state.sync) {
      lines.push("/coppice on shares this session, /coppice on project every session of this folder.");
    }
    return lines.join("\n");
  }

  /** The devices of the workspace. Opens it for the moment when nothing is shared. Rejects as the engine does. */
  listDevices(): Promise<DevicesAnswer> {
    return this.#ask((engine) => engine.request("devices", { sessionId: this.#sessionId }));
  }

  /** The sessions of the workspace, the one with the newest activity first. Rejects as the engine does. */
  listSessions(): Promise<readonly ListedSession[]> {
    return this.#ask((engine) => engine.request("sessions", {}));
  }

  /**
   * Has a session brought into a file for pi, and switches it on. The one that pi runs is saved and left first: it must
   * be opened again afterwards, or `start` called. Rejects as the engine does.
   */
  async prepareOpen(reference: string): Promise<OpenAnswer> {
    const { sessionManager, cwd } = this.#ctx;
    const file = sessionManager.getSessionFile();
    const sessionId = await this.#ask((engine) => engine.request("find", { reference }));
    const isThis = sessionId === this.#sessionId && file !== undefined;
    // What is appended to the file below is no other process's work, and this pi's old place must not be taken again.
    if (isThis) await this.sync.end(false);
    const answer = await this.#ask((engine) =>
      engine.request("open", {
        sessionId,
        cwd,
        sessionsFolder: sessionManager.getSessionDir(),
        ...(isThis ? { file } : {}),
      }),
    );
    this.#switches.setSession(sessionId, true);
    return answer;
  }

  /** Makes or joins a workspace, or gives the link for another device. Rejects as the engine does. */
  async pair(text: string): Promise<PairAnswer> {
    // A workspace that is open keeps the relay it was opened with, and one that is not has nothing to end.
    const answer = await this.#withEngine((engine) => engine.request("pair", { text }));
    // What waited for a workspace goes on.
    if (answer.kind === "made" || answer.kind === "joined") this.start();
    return answer;
  }

  #ask<Value>(use: (engine: EngineClient) => Promise<Value>): Promise<Value> {
    return this.sync.phase.kind === "mirroring" ? use(this.sync.engine) : this.#withEngine(use);
  }

  async #withEngine<Value>(use: (engine: EngineClient) => Promise<Value>): Promise<Value> {
    const engine = new EngineClient({
      homeFolder: this.#homeFolder,
      onEvent: (event) => {
        if (event.type === "takingIn") this.sessionImport.show(event.step);
      },
      // Whoever waits for an answer hears of it.
      onCrash: () => undefined,
    });
    this.#askedEngines.add(engine);
    try {
      if (this.#isRunning) await engine.request("setRunning", { sessionId: this.#sessionId, isRunning: true });
      return await use(engine);
    } finally {
      this.#askedEngines.delete(engine);
      await engine.close(engineCloseMs);
    }
  }

  #turnOn(): void {
    this.#isPaused = false;
    this.#warnOfOtherProcesses();
    this.sync.turnOn();
  }

  #warnOfOtherProcesses(): void {
    const file = this.#ctx.sessionManager.getSessionFile();
    if (this.#hasMark || file === undefined) return;
    const others = this.#marks.list(this.#sessionId).filter(({ pid }) => pid !== process.pid);
    this.#marks.add(this.#sessionId, file);
    this.#hasMark = true;
    if (others.length === 0) return;
    const pids = others.map(({ pid }) => pid).join(", ");
    this.#ctx.ui.notify(
      `Coppice: this session is open in another pi too (process ${pids}). Neither shows what the other writes; nothing is lost, and the session branches.`,
      "warning",
    );
  }

  #readSwitch(): SwitchState {
    return this.#switches.read({ sessionId: this.#sessionId, cwd: this.#ctx.cwd });
  }

  get #sessionId(): string {
    return this.#ctx.sessionManager.getSessionId();
  }
}

/** What a worker that was started for one question is given to end, in ms. */
const engineCloseMs = 2_000;

function describeSwitch({ sync, from, project }: SwitchState): string {
  if (from === "default") return "Nobody has switched it on.";
  const what = sync ? "on" : "off";
  return from === "session" ? `Switched ${what} for this session.` : `Switched ${what} for the folder ${project}.`;
}
