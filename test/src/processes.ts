import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { startCallProcess } from "./call-process.ts";
import type { DeviceCalls } from "./device-calls.ts";

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
  // Its clock can be set, by a part of Node that warns about itself.
  const flags = ["--disable-warning=ExperimentalWarning"];
  const { ask, kill } = startCallProcess<DeviceCalls>("device-process", undefined, flags);
  return {
    ask,
    kill,
    async stop() {
      await ask("close", null);
      await kill();
    },
  };
}

async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}
