import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** By method, what is asked and what is answered; all of it travels as JSON. */
export type Calls<Methods> = { [Method in keyof Methods]: { ask: unknown; answer: unknown } };

interface CallRequest {
  readonly call: number;
  readonly method: string;
  readonly ask: unknown;
}

interface CallResponse {
  readonly call: number;
  readonly answer?: unknown;
  readonly error?: string;
}

/** A child process that answers calls. */
export interface CallProcess<Methods extends Calls<Methods>> {
  readonly pid: number;
  ask<Method extends keyof Methods & string>(
    method: Method,
    ask: Methods[Method]["ask"],
  ): Promise<Methods[Method]["answer"]>;
  /** SIGKILL, settles when it is gone. Safe to call twice. */
  kill(): Promise<void>;
}

/**
 * Starts one of this folder's programs, as built. `onNotice` gets what it sends beside its answers; what a process that
 * is killed had sent before arrives all the same. `flags` are for Node, which is this one unless `execPath` names another.
 */
export function startCallProcess<Methods extends Calls<Methods>>(
  program: string,
  onNotice: (notice: unknown) => void = () => undefined,
  flags: readonly string[] = [],
  execPath: string = process.execPath,
): CallProcess<Methods> {
  // Children run the built code; this file may itself run from source, so the path is spelt from the package root.
  const path = fileURLToPath(new URL(`../dist/${program}.js`, import.meta.url));
  // No flags of the test runner: its import conditions would make the child look for source.
  const child = fork(path, [], { execPath, execArgv: [...flags], stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  let calls = 0;
  child.on("message", (message: CallResponse | { notice: string }) => {
    if ("notice" in message) return onNotice(message);
    const caller = waiting.get(message.call);
    waiting.delete(message.call);
    if (message.error === undefined) caller?.resolve(message.answer as never);
    else caller?.reject(new Error(message.error));
  });
  // Not "exit": what it had sent may come after that.
  child.on("close", (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`the process ended (${signal ?? code})`));
    waiting.clear();
  });
  return {
    pid: child.pid ?? 0,
    ask: (method, ask) =>
      new Promise((resolve, reject) => {
        const call = ++calls;
        waiting.set(call, { resolve, reject });
        child.send({ call, method, ask } satisfies CallRequest);
      }),
    kill: () => killProcess(child),
  };
}

/** In a child: answers the calls of its parent until that one is gone. */
export function answerCalls<Methods extends Calls<Methods>>(
  handlers: {
    [Method in keyof Methods]: (ask: Methods[Method]["ask"]) => Promise<Methods[Method]["answer"]>;
  },
): void {
  process.on("message", ({ call, method, ask }: CallRequest) => {
    const answer = (response: Omit<CallResponse, "call">): void => {
      process.send?.({ call, ...response } satisfies CallResponse);
    };
    (handlers as Record<string, (ask: unknown) => Promise<unknown>>)[method]?.(ask).then(
      (value) => answer({ answer: value }),
      (error: unknown) => answer({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
  process.on("disconnect", () => process.exit(0));
}

async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await closed;
}
