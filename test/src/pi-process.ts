import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type CommandResult, endProcess } from "./command-process.ts";
import { type PiOptions, piArguments, piEnvironment } from "./pi-home.ts";
import { findPiProgram } from "./pi-program.ts";

/** A record that pi writes: an event, a response, or a request of an extension's to the user. */
// biome-ignore lint/suspicious/noExplicitAny: output of another process; every reader checks what it uses.
export type PiRecord = any;

/** A pi in RPC mode. */
export interface PiProcess {
  readonly pid: number;
  /** Everything it has written, in order. */
  readonly records: readonly PiRecord[];
  /** Everything it has written to stderr. */
  readonly stderr: string;
  /** Sends a command; its response's data. Rejects when pi refuses. */
  call(type: string, parameters?: object): Promise<PiRecord>;
  /**
   * Sends a prompt; settles when pi has nothing more to do for it (at once for a command that starts no run). Its own
   * failures, and those of its model, are among the records.
   */
  prompt(message: string): Promise<void>;
  /** Settles with the first record from position `from` on, old or new, that passes; rejects when pi ends before. */
  waitFor(what: string, passes: (record: PiRecord) => boolean, from?: number): Promise<PiRecord>;
  /** What the extension shows in the status line under a key, as soon as it passes, now or later. */
  waitForStatus(key: string, passes: (text: string | undefined) => boolean): Promise<string | undefined>;
  /** SIGKILL; settles when it is gone. */
  kill(): Promise<void>;
  /** Closes its input and settles with its exit code when it has ended. */
  stop(): Promise<number | null>;
}

/** Answers a dialog of an extension: with `{ value }`, `{ confirmed }` or `{ cancelled: true }`. */
export type AnswerDialog = (request: PiRecord) => object | Promise<object>;

/** Bounds a wait that hangs; nothing waits this long when all is well. */
const patientMs = 45_000;
const dialogs = new Set(["select", "confirm", "input", "editor"]);

/** Starts pi in RPC mode; settles when it answers. Dialogs are cancelled unless `answerDialog` knows better. */
export async function startPi(
  options: PiOptions,
  answerDialog: AnswerDialog = () => ({ cancelled: true }),
): Promise<PiProcess> {
  const child = spawnPi(options, ["--mode", "rpc"], "pipe");
  const pi = drivePi(child, answerDialog);
  await pi.call("get_state");
  return pi;
}

/** Has pi answer one prompt in print mode and end. */
export async function runPiPrint(options: PiOptions, prompt: string): Promise<CommandResult> {
  const child = spawnPi(options, ["-p", prompt], "ignore");
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...output };
}

function spawnPi(options: PiOptions, args: readonly string[], stdin: "pipe" | "ignore"): ChildProcess {
  const program = findPiProgram();
  if (!program.ok) throw new Error(program.reason);
  return spawn(program.node, [...piArguments(program.cli, options), ...args], {
    cwd: options.cwd ?? options.home.cwd,
    env: piEnvironment(options),
    stdio: [stdin, "pipe", "pipe"],
  });
}

function drivePi(child: ChildProcess, answerDialog: AnswerDialog): PiProcess {
  const records: PiRecord[] = [];
  const watchers = new Set<() => void>();
  const output = { stderr: "" };
  let calls = 0;
  const send = (record: object): void => {
    child.stdin?.write(`${JSON.stringify(record)}\n`);
  };
  // What has not been read when pi is killed breaks the pipe; that it is gone is told by its end.
  child.stdin?.on("error", () => undefined);
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
  });
  readLines(child, (line) => {
    const record: PiRecord = JSON.parse(line);
    records.push(record);
    if (record.type === "extension_ui_request" && dialogs.has(record.method))
      void Promise.resolve(answerDialog(record)).then((answer) =>
        send({ type: "extension_ui_response", id: record.id, ...answer }),
      );
    for (const watch of watchers) watch();
  });
  const closed = once(child, "close").then(([code]) => code as number | null);

  const waitFor = (what: string, passes: (record: PiRecord) => boolean, from = 0): Promise<PiRecord> =>
    new Promise((resolve, reject) => {
      let next = from;
      const settle = (then: () => void): void => {
        clearTimeout(timer);
        watchers.delete(watch);
        then();
      };
      const fail = (why: string): void =>
        settle(() => reject(new Error(`${what}: ${why}; pi wrote last ${lastOf(records)}\n${output.stderr}`)));
      const watch = (): void => {
        while (next < records.length) {
          const record = records[next++];
          if (!passes(record)) continue;
          settle(() => resolve(record));
          return;
        }
      };
      const timer = setTimeout(() => fail(`not within ${patientMs} ms`), patientMs);
      watchers.add(watch);
      watch();
      void closed.then((code) => fail(`pi ended with ${code}`));
    });
  const call = async (type: string, parameters: object = {}): Promise<PiRecord> => {
    const id = `call-${++calls}`;
    const from = records.length;
    send({ ...parameters, id, type });
    const { success, data, error } = await waitFor(type, (r) => r.type === "response" && r.id === id, from);
    if (!success) throw new Error(`pi refused ${type}: ${error}`);
    return data;
  };
  return {
    pid: child.pid ?? 0,
    records,
    get stderr() {
      return output.stderr;
    },
    call,
    async prompt(message) {
      const from = records.length;
      const { disposition } = await call("prompt", { message });
      if (disposition !== "handled") await waitFor(`"${message}"`, ({ type }) => type === "agent_settled", from);
    },
    waitFor,
    async waitForStatus(key, passes) {
      // Only the last one counts of those that were shown before.
      const isStatus = (r: PiRecord): boolean => r.method === "setStatus" && r.statusKey === key;
      const from = Math.max(0, records.findLastIndex(isStatus));
      return (await waitFor(`status ${key}`, (r) => isStatus(r) && passes(r.statusText), from)).statusText;
    },
    kill: () => endProcess(child, "SIGKILL"),
    stop() {
      child.stdin?.end();
      return closed;
    },
  };
}

/** Lines end in LF alone: inside JSON texts of pi there may be other characters that end lines for `readline`. */
function readLines({ stdout }: ChildProcess, onLine: (line: string) => void): void {
  let rest = "";
  stdout?.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
}

function lastOf(records: readonly PiRecord[]): string {
  const shownLength = 300;
  return (JSON.stringify(records.at(-1)) ?? "nothing").slice(0, shownLength);
}
