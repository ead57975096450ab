import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { EngineClient } from "./engine-client.ts";
import { chooseFiles, describeSurvey, describeTaken } from "./import-words.ts";
import type { SurveyRequest, TakingInStep } from "./protocol.ts";
import { count } from "./sync-phase.ts";

const statusKey = "coppice-import";

/** `/coppice import`: asks what of pi's sessions on this device is to be shared, and has it taken in beside pi's work. */
export class SessionImport {
  readonly #ctx: ExtensionContext;
  readonly #ask: <Value>(use: (engine: EngineClient) => Promise<Value>) => Promise<Value>;
  /** While it runs: the engine that does it. */
  #engine: EngineClient | undefined;
  #step: TakingInStep | undefined;
  #isRunning = false;
  #isEnded = false;

  /** `ctx`: of the session's start. `ask`: lends an engine for as long as the call takes. */
  constructor(ctx: ExtensionContext, ask: <Value>(use: (engine: EngineClient) => Promise<Value>) => Promise<Value>) {
    this.#ctx = ctx;
    this.#ask = ask;
  }

  /**
   * Begins, or asks whether to stop while it runs. Settles at once where a user sees what comes of it, else when it is
   * through.
   */
  async command(ctx: ExtensionContext): Promise<void> {
    if (this.#isRunning) return this.#offerToStop();
    this.#isRunning = true;
    const running = this.#run();
    if (!ctx.hasUI) await running;
  }

  /** What is added to the news of a workspace: how to bring in what is here. Empty: there is nothing. */
  async invite(): Promise<string> {
    const asked = this.#ask((engine) => engine.request("countSessions", this.#request()));
    // The news itself must be said even so.
    const sessions = await asked.catch((error: Error) => error);
    if (sessions instanceof Error) return `\nSessions on this device cannot be looked at: ${sessions.message}`;
    if (sessions === 0) return "";
    return `\n/coppice import brings in the ${count(sessions, "session", "sessions")} that pi has on this device.`;
  }

  /** Shows how far it has come. */
  show(step: TakingInStep): void {
    if (this.#isEnded || !this.#isRunning) return;
    this.#step = step;
    this.#ctx.ui.setStatus(statusKey, `coppice import: ${describeStep(step)}`);
  }

  /** pi leaves the session: nothing is shown any more. Whoever closes the engine ends the work. */
  end(): void {
    this.#isEnded = true;
  }

  async #run(): Promise<void> {
    try {
      const said = await this.#ask((engine) => this.#takeIn(engine));
      if (said !== undefined) this.#say(said, "info");
    } catch (error) {
      this.#say(error instanceof Error ? error.message : String(error), "warning");
    } finally {
      this.#isRunning = false;
      this.#engine = undefined;
      this.#step = undefined;
      if (!this.#isEnded) this.#ctx.ui.setStatus(statusKey, undefined);
    }
  }

  async #takeIn(engine: EngineClient): Promise<string | undefined> {
    this.#engine = engine;
    const survey = await engine.request("survey", this.#request());
    const described = describeSurvey(survey);
    if (survey.found.length === 0) return `${described}. There is nothing to take in.`;
    const choices = chooseFiles(survey.found);
    let files: readonly string[] | undefined;
    if (this.#ctx.hasUI) {
      const question = `Coppice: ${described}. Take in what is new? It is shared with your devices from then on, also what pi adds later.`;
      const chosen = await this.#ctx.ui.select(question, [...choices.keys()]);
      files = choices.get(chosen ?? "");
    } else {
      // Nobody can be asked: what may hold a secret stays here.
      files = survey.found.filter(({ secrets }) => secrets.length === 0).map(({ file }) => file);
      process.stderr.write(`coppice: ${described}. Those with likely secrets stay here.\n`);
    }
    if (files === undefined || files.length === 0) return "Nothing was taken in.";
    return describeTaken(await engine.request("takeIn", { files }), files.length);
  }

  async #offerToStop(): Promise<void> {
    const step = this.#step === undefined ? "begun" : describeStep(this.#step);
    const stop = "Stop it";
    const chosen = await this.#ctx.ui.select(`Coppice: sessions are taken in (${step}).`, [stop, "Let it go on"]);
    if (chosen === stop) await this.#engine?.request("stopTakingIn", {});
  }

  #request(): SurveyRequest {
    const { sessionManager, cwd } = this.#ctx;
    return { sessionsFolder: sessionManager.getSessionDir(), cwd, exceptId: sessionManager.getSessionId() };
  }

  #say(text: string, type: "info" | "warning"): void {
    if (this.#isEnded) return;
    if (this.#ctx.hasUI) this.#ctx.ui.notify(`Coppice: ${text}`, type);
    else process.stderr.write(`coppice: ${text}\n`);
  }
}

function describeStep({ kind, done, total }: TakingInStep): string {
  return `${kind === "looking" ? "looking at" : "taking in"} ${done + 1} of ${total}`;
}
