import { existsSync } from "node:fs";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { EngineClient, EngineError } from "./engine-client.ts";
import { PiSessionView } from "./pi-session-view.ts";
import type { EngineEvent, MirrorAnswer, MirrorRunner, SecretCount, TakingInStep } from "./protocol.ts";
import { count, describePhase, type SyncPhase } from "./sync-phase.ts";

/** What one session of pi needs to be mirrored. */
export interface SessionSyncOptions {
  readonly pi: ExtensionAPI;
  /** Of the event that started the session; good until its shutdown. */
  readonly ctx: ExtensionContext;
  readonly homeFolder: string;
  /** The user does not want the session shared, after all. */
  readonly onDeclined: () => void;
  /** Sessions of this device are looked at, or taken in, by this engine. */
  readonly onTakingIn: (step: TakingInStep) => void;
}

/** How often pi's memory is looked at beside its events, in ms: some appends have no event of their own. */
const lookIntervalMs = 250;
/** What a pi that ends waits for the relay at most, in ms, and only when it can be reached. */
const relayWaitMs = 2_000;
/** What a pi that ends waits for its own disk at most, in ms. What is not through by then follows on the next start. */
const savingWaitMs = 5_000;
const firstRetryMs = 1_000;
const longestRetryMs = 30_000;
/** These stay what they are until a person does something. */
const finalCodes: ReadonlySet<string> = new Set(["not_found", "invalid_session", "version_mismatch", "wrong_key"]);
/** Type of the entry that keeps pi's place in the file when it is not the last line. As exports have it. */
const leafMarkerType = "coppice/leaf";
const statusKey = "coppice";

/**
 * Keeps one session of pi in step with the workspace while pi runs it: looks at what is new and tells the engine, shows
 * where things stand, and never holds pi up. While it is off nothing is started.
 */
export class SessionSync {
  readonly #options: SessionSyncOptions;
  readonly #view: PiSessionView;
  #phase: SyncPhase = { kind: "off" };
  #engine: EngineClient | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #retries = 0;
  /** Grows with every begin and stop, so that what an earlier one still waits for is left alone. */
  #run = 0;
  #beginning: Promise<void> | undefined;
  /** The last look that is under way. */
  #looking: Promise<void> = Promise.resolve();
  #isRunning = false;
  readonly #warnedReplicas = new Set<string>();
  #hasWarnedOfLines = false;

  constructor(options: SessionSyncOptions) {
    this.#options = options;
    this.#view = new PiSessionView(options.ctx.sessionManager);
  }

  /** What it does now. */
  get phase(): SyncPhase {
    return this.#phase;
  }

  /** The engine; started when it is not there. */
  get engine(): EngineClient {
    this.#engine ??= new EngineClient({
      homeFolder: this.#options.homeFolder,
      onEvent: (event) => this.#takeEvent(event),
      onCrash: (reason) => this.#fail(new EngineError(`the engine has ended: ${reason}`, "engine_gone")),
    });
    return this.#engine;
  }

  /** Shows the phase; called at the start of a session. */
  show(): void {
    this.#options.ctx.ui.setStatus(statusKey, describePhase(this.#phase));
  }

  /** Mirrors from now on, or tries again at once where it failed; nothing when it does already. */
  turnOn(): void {
    if (this.#timer !== undefined && this.#phase.kind !== "failed") return;
    this.#stopTimers();
    if (this.#options.ctx.sessionManager.getSessionFile() === undefined) {
      this.#set({ kind: "off", why: "pi keeps this session in memory only" });
      return;
    }
    this.#set({ kind: "waiting" });
    this.engine.start();
    this.#timer = setInterval(() => this.tick(), lookIntervalMs);
    this.#timer.unref();
    this.tick();
  }

  /** Nothing leaves pi from now on. Settles when the session is closed. */
  async turnOff(phase: Extract<SyncPhase, { kind: "off" | "paused" }>): Promise<void> {
    this.#stopTimers();
    this.#run += 1;
    this.#set(phase);
    const engine = this.#engine;
    this.#engine = undefined;
    await engine?.close(savingWaitMs);
  }

  /** Nothing is begun, and why. */
  refuse(why: string): void {
    this.#set({ kind: "off", why });
  }

  /** Looks at what pi has done; called on every event that may follow an append. */
  tick(): void {
    if (this.#phase.kind === "waiting") {
      const file = this.#options.ctx.sessionManager.getSessionFile();
      // A pi that is opened and closed again leaves no session anywhere.
      if (file !== undefined && existsSync(file)) this.#begin(file);
      return;
    }
    if (this.#isRunning && this.#options.ctx.isIdle()) this.setRunning(false);
    if (this.#phase.kind !== "mirroring") return;
    const change = this.#view.takeChange();
    if (change !== undefined) this.#look(change.newIds, change.leafId);
  }

  /** An agent runs here, or has ended. */
  setRunning(isRunning: boolean): void {
    this.#isRunning = isRunning;
    // Also while the session is taken in: that gives way to an agent.
    if (["starting", "importing", "mirroring"].includes(this.#phase.kind)) this.#tellRunning();
  }

  /** Warns, once for each run, of an agent that runs on the same line elsewhere: two of them would split the session. */
  warnOfRunners(): void {
    const runners = this.#phase.kind === "mirroring" ? (this.#phase.status?.runners ?? []) : [];
    const fresh = runners.filter(({ replicaId }) => !this.#warnedReplicas.has(replicaId));
    for (const { replicaId } of fresh) this.#warnedReplicas.add(replicaId);
    if (fresh.length > 0) this.#notify(describeRunners(fresh), "warning");
  }

  /**
   * pi ends, or leaves the session. Settles when everything is on disk and, as far as the relay can be reached, there
   * too; within a bounded time. `keepsPlace`: the next pi on the file goes on where this one stands (default).
   */
  async end(keepsPlace: boolean = true): Promise<void> {
    const engine = this.#engine;
    // Nobody can answer any more, and without an answer nothing is shared.
    const isAsking = this.#phase.kind === "asking";
    if (engine === undefined || this.#timer === undefined || isAsking) {
      this.#stopTimers();
      this.#run += 1;
      await engine?.close(relayWaitMs);
      return;
    }
    this.tick();
    this.#stopTimers();
    const saving = this.#save(engine, keepsPlace).catch((error: unknown) => this.#tellOnStderr(error));
    await engine.holdFor(within(saving, savingWaitMs));
    this.#run += 1;
    this.#engine = undefined;
    this.#phase = { kind: "off" };
    await engine.close(relayWaitMs);
  }

  async #save(engine: EngineClient, keepsPlace: boolean): Promise<void> {
    await this.#beginning;
    if (this.#phase.kind !== "mirroring") return;
    const { pi, ctx } = this.#options;
    const { sessionManager } = ctx;
    const leafId = sessionManager.getLeafId();
    // The next pi goes on at the last line of the file. A move alone writes none.
    if (keepsPlace && leafId !== null && sessionManager.getEntries().at(-1)?.id !== leafId)
      pi.appendEntry(leafMarkerType);
    const change = this.#view.takeChange();
    if (change !== undefined) this.#look(change.newIds, change.leafId);
    this.#isRunning = false;
    this.#tellRunning();
    await this.#looking;
    await engine.request("flush", { sessionId: sessionManager.getSessionId(), relayWaitMs });
  }

  #begin(file: string): void {
    const run = ++this.#run;
    this.#set({ kind: "starting" });
    this.#beginning = this.#beginNow(run, file).catch((error: unknown) => {
      if (run === this.#run) this.#fail(error);
    });
  }

  async #beginNow(run: number, file: string): Promise<void> {
    const { ctx } = this.#options;
    const sessionId = ctx.sessionManager.getSessionId();
    const engine = this.engine;
    if (!(await this.#askConsent(run, engine, file))) return;
    const { ids, leafId } = this.#view.takeAll();
    const answer = await engine.request("mirror", { sessionId, file, cwd: ctx.cwd, ids, leafId });
    if (run !== this.#run) return;
    this.#retries = 0;
    this.#set({ kind: "mirroring" });
    if (this.#isRunning) this.#tellRunning();
    this.#goToOwnPlace(answer);
    // Whatever has changed since, and in any case where pi stands: the workspace follows.
    const change = this.#view.takeChange();
    this.#look(change?.newIds ?? [], ctx.sessionManager.getLeafId());
  }

  /**
   * Before a session is shared for the first time its owner hears of likely secrets in it. True: go on; otherwise the
   * phase says why not.
   */
  async #askConsent(run: number, engine: EngineClient, file: string): Promise<boolean> {
    const { ctx, onDeclined } = this.#options;
    const { isKnown, secrets } = await engine.request("inspect", {
      sessionId: ctx.sessionManager.getSessionId(),
      file,
    });
    if (run !== this.#run) return false;
    if (isKnown || secrets.length === 0) return true;
    const found = describeSecrets(secrets);
    if (!ctx.hasUI) {
      // Nobody can be asked, so nothing is shared; that it is not must not stay unsaid either.
      process.stderr.write(`coppice: not shared: ${found}. Open the session in pi and type /coppice on to decide.\n`);
      this.#set({ kind: "off", why: `${found}; /coppice on asks again` });
      return false;
    }
    this.#set({ kind: "asking" });
    const share = "Share it";
    const answer = await ctx.ui.select(`Coppice: ${found} in this session. Share it with your devices?`, [
      share,
      "Keep this session here",
    ]);
    if (run !== this.#run) return false;
    if (answer === share) return true;
    onDeclined();
    this.#run += 1;
    this.#set({ kind: "off", why: `${found}, and you chose to keep it here` });
    return false;
  }

  /** A device that had moved and written nothing since stands elsewhere than at the end of the file. */
  #goToOwnPlace({ ownLeafId, ahead }: MirrorAnswer): void {
    const { ctx } = this.#options;
    if (ahead !== undefined) {
      const names = ahead.deviceNames.join(", ");
      const entries = count(ahead.entries, "entry", "entries");
      this.#notify(`Coppice: continued on ${names}: ${entries}; /coppice open to go on there.`, "info");
    }
    if (ownLeafId === undefined) return;
    // The same object as pi's own, of which its types show only the reading half.
    const manager = ctx.sessionManager as unknown as { branch?: (id: string) => void; resetLeaf?: () => void };
    if (ctx.isIdle() && this.#view.isUnchanged()) {
      if (ownLeafId === null) manager.resetLeaf?.();
      else manager.branch?.(ownLeafId);
      this.#notify("Coppice: back at the place where this device left the session.", "info");
    }
  }

  #look(newIds: readonly string[], leafId: string | null): void {
    const run = this.#run;
    const looking = this.#lookNow(newIds, leafId).catch((error: unknown) => {
      if (run === this.#run) this.#fail(error);
    });
    this.#looking = Promise.all([this.#looking, looking]).then(() => undefined);
  }

  async #lookNow(newIds: readonly string[], leafId: string | null): Promise<void> {
    const sessionId = this.#options.ctx.sessionManager.getSessionId();
    const engine = this.engine;
    const { missingIds } = await engine.request("look", { sessionId, newIds, leafId });
    if (missingIds.length === 0) return;
    // The file was taken away below pi: memory has what it had.
    await engine.request("give", { sessionId, lines: this.#view.textsOf(missingIds) });
  }

  #tellRunning(): void {
    const sessionId = this.#options.ctx.sessionManager.getSessionId();
    // A worker that has gone is told of by itself, and what runs is said again when it is back.
    this.engine.request("setRunning", { sessionId, isRunning: this.#isRunning }).catch(() => undefined);
  }

  #takeEvent(event: EngineEvent): void {
    switch (event.type) {
      case "progress":
        if (this.#phase.kind === "starting" || this.#phase.kind === "importing")
          this.#set({ kind: "importing", entries: event.entries });
        return;
      case "status": {
        if (this.#phase.kind !== "mirroring") return;
        const { status } = event;
        this.#set({ kind: "mirroring", status });
        // Whoever has ended and begins again is warned of again.
        const running = new Set(status.runners.map(({ replicaId }) => replicaId));
        for (const id of this.#warnedReplicas) if (!running.has(id)) this.#warnedReplicas.delete(id);
        return;
      }
      case "takingIn":
        this.#options.onTakingIn(event.step);
        return;
      case "unknownLines":
        this.#takeUnknownLines(event.ids);
        return;
      case "problem":
        this.#notify(`Coppice: ${event.reason}`, "warning");
        return;
    }
  }

  #takeUnknownLines(ids: readonly string[]): void {
    this.tick();
    const foreign = this.#view.withoutKnown(ids);
    if (foreign.length === 0) return;
    if (!this.#hasWarnedOfLines) {
      this.#hasWarnedOfLines = true;
      this.#notify(
        "Coppice: another pi writes into this session's file. This pi does not show what it writes; nothing is lost, and the session branches. /coppice open goes on with everything.",
        "warning",
      );
    }
    const sessionId = this.#options.ctx.sessionManager.getSessionId();
    const run = this.#run;
    this.engine.request("takeForeign", { sessionId, ids: foreign }).catch((error: unknown) => {
      if (run === this.#run) this.#fail(error);
    });
  }

  #fail(error: unknown): void {
    if (this.#timer === undefined) return;
    this.#run += 1;
    const reason = error instanceof Error ? error.message : String(error);
    const isFinal = error instanceof EngineError && finalCodes.has(error.code);
    this.#set({ kind: "failed", reason, isFinal });
    clearTimeout(this.#retryTimer);
    if (isFinal) return;
    const delayMs = Math.min(firstRetryMs * 2 ** this.#retries++, longestRetryMs);
    this.#retryTimer = setTimeout(() => {
      this.#set({ kind: "waiting" });
      this.tick();
    }, delayMs);
    this.#retryTimer.unref();
  }

  #stopTimers(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#retryTimer);
    this.#timer = undefined;
    this.#retryTimer = undefined;
  }

  #set(phase: SyncPhase): void {
    this.#phase = phase;
    this.show();
  }

  #notify(message: string, type: "info" | "warning"): void {
    this.#options.ctx.ui.notify(message, type);
  }

  /** pi's screen is gone, and its other output belongs to the answer. */
  #tellOnStderr(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`coppice: not everything is saved: ${reason}. It follows when pi opens this session again.\n`);
  }
}

function describeSecrets(secrets: readonly SecretCount[]): string {
  const total = secrets.reduce((sum, secret) => sum + secret.count, 0);
  const kinds = secrets.map((secret) => (secret.count === 1 ? secret.kind : `${secret.kind} (${secret.count})`));
  return `${count(total, "likely secret", "likely secrets")}: ${kinds.join(", ")}`;
}

function describeRunners(runners: readonly MirrorRunner[]): string {
  const names = runners.map(({ deviceName, sameDevice }) =>
    sameDevice ? "another process of this device" : deviceName,
  );
  return `Coppice: an agent already runs on ${names.join(", ")} at this place. A prompt here makes a second branch of the session.`;
}

/** Settles as `wait` does, or after `timeoutMs`. Its timer keeps the process alive. */
async function within(wait: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  try {
    await Promise.race([wait, late]);
  } finally {
    clearTimeout(timer);
  }
}
