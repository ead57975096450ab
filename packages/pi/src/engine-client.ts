import { Worker } from "node:worker_threads";
import type { EngineEvent, EngineMessage, EngineRequests, EngineStart, RequestMessage } from "./protocol.ts";

/** What an engine client needs. */
export interface EngineClientOptions extends EngineStart {
  /** Called for everything the engine tells by itself. */
  readonly onEvent: (event: EngineEvent) => void;
  /** The worker has ended by itself, and why. The next request starts another one. Unanswered requests reject. */
  readonly onCrash: (reason: string) => void;
  /** The worker's program. Default: the engine, as it is built. */
  readonly workerFile?: URL;
}

/** What a request rejects with: the engine's own failure (`code` as in `SessionError`), or `engine_gone`. */
export class EngineError extends Error {
  readonly code: string;

  constructor(message: string, code: string = "unknown") {
    super(message);
    this.name = "EngineError";
    this.code = code;
  }
}

/** The last words of a worker that are kept, in characters. */
const maxStderr = 2_000;

interface Waiting {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: EngineError) => void;
}

/**
 * The engine as pi's thread sees it. The worker is started by the first request, never holds the process, and may end
 * at any time: whoever waits for it is told.
 */
export class EngineClient {
  readonly #options: EngineClientOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #nextId = 1;
  #stderr = "";
  #isClosed = false;

  constructor(options: EngineClientOptions) {
    this.#options = options;
  }

  /** Starts the worker ahead of the first request. */
  start(): void {
    this.#getWorker();
  }

  /** Asks the engine. Rejects with an `EngineError`. */
  request<Name extends keyof EngineRequests>(
    name: Name,
    given: EngineRequests[Name]["given"],
  ): Promise<EngineRequests[Name]["answer"]> {
    if (this.#isClosed) return Promise.reject(new EngineError("The engine has been closed.", "engine_gone"));
    return this.#send(name, given);
  }

  /**
   * Lets what was asked for end, closes the worker, and ends it when it has not done so within `timeoutMs`. Never
   * rejects; safe to call twice.
   */
  async close(timeoutMs: number): Promise<void> {
    const worker = this.#worker;
    if (this.#isClosed || worker === undefined) {
      this.#isClosed = true;
      return;
    }
    // The process must not end below the wait.
    worker.ref();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const exited = new Promise<void>((resolve) => {
      worker.once("exit", () => resolve());
      timer = setTimeout(() => {
        worker.terminate().then(
          () => resolve(),
          () => resolve(),
        );
      }, timeoutMs);
    });
    const asked = this.#send("close", {});
    // Its end is told by the exit; a worker that cannot answer any more ends as well.
    asked.catch(() => undefined);
    this.#isClosed = true;
    await exited;
    clearTimeout(timer);
  }

  /** Whether a worker runs. */
  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  /** Keeps the process alive until `wait` has settled. */
  async holdFor<Value>(wait: Promise<Value>): Promise<Value> {
    this.#worker?.ref();
    try {
      return await wait;
    } finally {
      this.#worker?.unref();
    }
  }

  #send<Name extends keyof EngineRequests>(
    name: Name,
    given: EngineRequests[Name]["given"],
  ): Promise<EngineRequests[Name]["answer"]> {
    const worker = this.#getWorker();
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const message: RequestMessage = { id, name, given };
      worker.postMessage(message);
    });
  }

  #getWorker(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const { homeFolder, workerFile = new URL("./engine-worker.js", import.meta.url) } = this.#options;
    const workerData: EngineStart = { homeFolder };
    // What a worker prints would stand in the middle of pi's screen, or of the answer that another program reads.
    const worker = new Worker(workerFile, {
      workerData,
      stdout: true,
      stderr: true,
      execArgv: [],
    });
    this.#worker = worker;
    this.#stderr = "";
    worker.unref();
    worker.stdout.resume();
    worker.stderr.on("data", (text) => {
      this.#stderr = `${this.#stderr}${text}`.slice(-maxStderr);
    });
    worker.on("message", (message: EngineMessage) => this.#take(message));
    worker.on("messageerror", (error) => this.#lose(worker, error.message));
    worker.on("error", (error) => this.#lose(worker, describe(error)));
    worker.on("exit", (code) => this.#lose(worker, this.#stderr.trim() || `it ended with code ${code}`));
    return worker;
  }

  #take(message: EngineMessage): void {
    if ("event" in message) {
      if (!this.#isClosed) this.#options.onEvent(message.event);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ("error" in message) waiting?.reject(new EngineError(message.error.message, message.error.code));
    else waiting?.resolve(message.answer as never);
  }

  #lose(worker: Worker, reason: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new EngineError(`Coppice's engine has ended: ${reason}`, "engine_gone"));
    if (!this.#isClosed) this.#options.onCrash(reason);
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
