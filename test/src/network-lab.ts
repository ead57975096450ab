import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DeviceSnapshot } from "./device-calls.ts";
import { type DeviceProcess, type RelayProcess, startDeviceProcess, startRelayProcess } from "./processes.ts";

/** One promise of the network. `run` gives the figures, or throws. */
export interface NetworkCheck {
  readonly name: string;
  run(): Promise<string>;
}

/** A check with processes and folders of its own, which are gone when it has ended. */
export function makeCheck(name: string, run: (lab: Lab) => Promise<string>): NetworkCheck {
  return {
    name,
    async run() {
      const lab = new Lab();
      try {
        return await run(lab);
      } finally {
        await lab.close();
      }
    },
  };
}

/** The workspace key of every device that is given no other. */
export const keyHex: string = "5a".repeat(32);
/** Bounds a wait that hangs; nothing waits this long when all is well. */
export const patientMs = 60_000;

/** Processes and folders of one check. */
export class Lab {
  readonly scratch: string = mkdtempSync(join(tmpdir(), "coppice-network-"));
  readonly #cleanups: (() => Promise<void>)[] = [];

  async startRelay(name: string, port = 0): Promise<RelayProcess> {
    const relay = await startRelayProcess(join(this.scratch, name), port);
    this.onClose(() => relay.kill());
    return relay;
  }

  async startDevice(options: {
    name: string;
    home?: string;
    relay?: string;
    key?: string;
    sealed?: boolean;
    copyGraceMs?: number;
  }): Promise<DeviceProcess> {
    const { name, home = name, relay, key = keyHex, sealed = true, copyGraceMs } = options;
    const device = startDeviceProcess();
    this.onClose(() => device.kill());
    await device.ask("open", {
      home: join(this.scratch, home),
      keyHex: key,
      name,
      sealed,
      ...(relay === undefined ? {} : { relay }),
      ...(copyGraceMs === undefined ? {} : { copyGraceMs }),
    });
    return device;
  }

  onClose(cleanup: () => Promise<void>): void {
    this.#cleanups.push(cleanup);
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
    rmSync(this.scratch, { recursive: true, force: true });
  }
}

/** Both logs, once they are equal (and have `length` lines, when given). */
export async function untilSame(
  what: string,
  a: DeviceProcess,
  b: DeviceProcess,
  sessionId: string,
  length?: number,
): Promise<string[]> {
  let lines: string[] = [];
  await untilTrue(`${what}: both logs equal`, async () => {
    const [onA, onB] = await Promise.all([a.ask("snapshot", { sessionId }), b.ask("snapshot", { sessionId })]);
    lines = onA.lines;
    return (length === undefined || lines.length === length) && isSameList(onA.lines, onB.lines);
  });
  return lines;
}

/** Settles when something of a device's session has a value. */
export async function untilEqual<Value>(
  what: string,
  device: DeviceProcess,
  sessionId: string,
  read: (snapshot: DeviceSnapshot) => Value,
  value: Value,
): Promise<void> {
  await untilTrue(`${what}: ${String(value)}`, async () => read(await device.ask("snapshot", { sessionId })) === value);
}

/** Asks again and again until the answer is true. */
export async function untilTrue(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + patientMs;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(`${what}: not within ${patientMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The id of an entry's line. */
export function idOf(line: string): string {
  return (JSON.parse(line) as { id: string }).id;
}

/** Whether two logs are the same, line by line. */
function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, at) => line === b[at]);
}

/** A time for people to read. */
export function showMs(ms: number): string {
  return `${Math.round(ms)} ms`;
}
