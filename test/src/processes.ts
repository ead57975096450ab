import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { DeviceCalls, DeviceRequest, DeviceResponse } from "./device-calls.ts";

/** A relay process. */
export interface RelayProcess {
  readonly pid: number;
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** SIGKILL, settles when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM, settles when it is gone. */
  stop(): Promise<void>;
}

/** A device process. */
export interface DeviceProcess {
  ask<Method extends keyof DeviceCalls>(
    method: Method,
    ask: DeviceCalls[Method]["ask"],
  ): Promise<DeviceCalls[Method]["answer"]>;
  kill(): Promise<void>;
  /** Closes the device in order, then ends the process. */
  stop(): Promise<void>;
}

/** Children get no flags of the test runner: its import conditions would make them look for source. */
const execArgv: string[] = [];

// Children run the built code; this file may itself run from source, so the path is spelt from the package root.
const builtFile = (name: string): string => fileURLToPath(new URL(`../dist/${name}`, import.meta.url));

/** Starts a relay on a data folder; port 0 takes a free one. */
export async function startRelayProcess(dataDir: string, port = 0): Promise<RelayProcess> {
  const child = forkRelay(dataDir, port);
  const started = await Promise.race([
    once(child, "message"),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`the relay ended with ${code} while starting`))),
  ]);
  const { url, port: boundPort } = started[0] as { url: string; port: number };
  return {
    pid: child.pid as number,
    url,
    port: boundPort,
    dataDir,
    kill: () => endProcess(child, "SIGKILL"),
    stop: () => endProcess(child, "SIGTERM"),
  };
}

/** Starts a relay on a data folder and kills it after this time, wherever it is by then. */
export async function killStartingRelay(dataDir: string, afterMs: number): Promise<void> {
  const child = forkRelay(dataDir, 0);
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  await endProcess(child, "SIGKILL");
}

function forkRelay(dataDir: string, port: number): ChildProcess {
  return fork(builtFile("relay-process.js"), [dataDir, String(port)], {
    execArgv,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}

/** Starts a device process; it does nothing before its `open` call. */
export function startDeviceProcess(): DeviceProcess {
  const child = fork(builtFile("device-process.js"), [], {
    // Its clock can be set, by a part of Node that warns about itself.
    execArgv: [...execArgv, "--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  let calls = 0;
  child.on("message", ({ call, answer, error }: DeviceResponse) => {
    const caller = waiting.get(call);
    waiting.delete(call);
    if (error === undefined) caller?.resolve(answer as never);
    else caller?.reject(new Error(error));
  });
  child.on("exit", (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`the device ended (${signal ?? code})`));
    waiting.clear();
  });
  const ask: DeviceProcess["ask"] = (method, question) =>
    new Promise((resolve, reject) => {
      const call = ++calls;
      waiting.set(call, { resolve, reject });
      child.send({ call, method, ask: question } satisfies DeviceRequest);
    });
  return {
    ask,
    kill: () => endProcess(child, "SIGKILL"),
    async stop() {
      await ask("close", null);
      await endProcess(child, "SIGTERM");
    },
  };
}

async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}
