import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { TaskQueue } from "@coppice/core";

/** How commands are run. */
export interface CommandRunnerOptions {
  /** For the system's shell. */
  readonly command: string;
  /** A run that takes longer is ended. */
  readonly timeoutMs: number;
  /** Runs that may wait for their turn. */
  readonly maxWaiting: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called with each line a run writes. */
  readonly onLine: (stream: "stdout" | "stderr", line: string) => void;
}

/** One run of the command. */
export interface CommandRun {
  /** Read when its turn has come. */
  readonly readInput: () => Promise<string>;
  readonly env: Readonly<Record<string, string>>;
  /** Called with a few words when the run did not end with exit code 0, or was not begun. */
  readonly onFailure: (why: string) => void;
}

/** Runs one command again and again, one run after another, each with a text on its standard input. */
export class CommandRunner {
  readonly #options: CommandRunnerOptions;
  readonly #queue = new TaskQueue();
  #waiting = 0;
  #leftOut = 0;
  #running: ChildProcess | undefined;
  #isClosed = false;

  constructor(options: CommandRunnerOptions) {
    this.#options = options;
  }

  /** Lets a run wait for its turn. One that is too many fails without being begun, one that comes after the end is left out. */
  add(run: CommandRun): void {
    if (this.#waiting >= this.#options.maxWaiting) {
      run.onFailure(`was not run: ${this.#waiting} runs wait already`);
      return;
    }
    this.#waiting += 1;
    this.#queue
      .run(async () => {
        this.#waiting -= 1;
        if (this.#isClosed) this.#leftOut += 1;
        else await this.#run(run);
      })
      .catch((error: unknown) => {
        run.onFailure(`could not be run: ${error instanceof Error ? error.message : String(error)}`);
      });
  }

  /** Ends the run at hand and settles when nothing runs any more, with the number of runs that were left out. */
  async close(): Promise<number> {
    this.#isClosed = true;
    if (this.#running !== undefined) endGroup(this.#running);
    await this.#queue.idle();
    return this.#leftOut;
  }

  async #run({ readInput, env, onFailure }: CommandRun): Promise<void> {
    const why = await this.#runOnce(await readInput(), env);
    if (why !== undefined) onFailure(why);
  }

  /** Settles with what went wrong, if anything did. */
  #runOnce(input: string, env: Readonly<Record<string, string>>): Promise<string | undefined> {
    const { command, timeoutMs, onLine } = this.#options;
    if (this.#isClosed) return Promise.resolve("was not run: it was stopped");
    return new Promise((resolve) => {
      const child = spawn(command, {
        shell: true,
        // A group of its own: what the shell has started ends with it.
        detached: process.platform !== "win32",
        env: { ...this.#options.env, ...env },
        stdio: "pipe",
      });
      this.#running = child;
      let isTooLong = false;
      const timer = setTimeout(() => {
        isTooLong = true;
        endGroup(child);
      }, timeoutMs);
      const finish = (why: string | undefined): void => {
        clearTimeout(timer);
        this.#running = undefined;
        resolve(why);
      };
      readLines(child.stdout, (line) => onLine("stdout", line));
      readLines(child.stderr, (line) => onLine("stderr", line));
      // A command need not read what it is given.
      child.stdin.on("error", () => undefined);
      child.stdin.end(input);
      child.once("error", (error) => finish(`could not be run: ${error.message}`));
      child.once("close", (code, signal) => {
        if (isTooLong) finish(`was ended after ${timeoutMs / 1000} s`);
        else if (this.#isClosed) finish("was ended: it was stopped");
        else if (signal !== null) finish(`was ended by ${signal}`);
        else finish(code === 0 ? undefined : `ended with exit code ${code}`);
      });
    });
  }
}

function readLines(stream: Readable, onLine: (line: string) => void): void {
  createInterface({ input: stream }).on("line", onLine);
}

/** Ends a shell and everything it has started. */
function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group has ended by itself.
  }
}
