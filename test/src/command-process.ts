import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** What a finished command left behind. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that goes on running and prints one JSON object per line. */
export interface RunningCommand {
  /** Settles with the first line, old or new, that passes; rejects when the command ends before. */
  waitForLine(passes: (line: JsonLine) => boolean): Promise<JsonLine>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** An object of the command's `--json` output. */
// biome-ignore lint/suspicious/noExplicitAny: output of another process; every reader checks what it uses.
export type JsonLine = any;

/** Bounds a wait that hangs; nothing waits this long when all is well. */
const patientMs = 60_000;
const coppice = fileURLToPath(new URL("../node_modules/.bin/coppice", import.meta.url));

/** Where a command runs, when that matters to it: its folder, and variables beside those there are. */
export interface CommandPlace {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs `coppice` to its end. */
export async function runCommand(args: readonly string[], { cwd, env }: CommandPlace = {}): Promise<CommandResult> {
  const child = spawn(coppice, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...output };
}

/** Runs `coppice` to its end; its output, or an error that shows what it said. */
export async function runCommandWell(args: readonly string[], place: CommandPlace = {}): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, place);
  if (code !== 0) throw new Error(`coppice ${args.join(" ")} ended with ${code}: ${stderr}${stdout}`);
  return stdout;
}

/** As `runCommandWell` with `--json`, for commands that print one object. */
export async function runCommandJson(args: readonly string[], place: CommandPlace = {}): Promise<JsonLine> {
  return JSON.parse(await runCommandWell([...args, "--json"], place));
}

/** Starts `coppice … --json` and reads along; `onLine` gets each line as it comes. */
export function startCommand(
  args: readonly string[],
  onLine: (line: JsonLine) => void = () => undefined,
): RunningCommand {
  const child = spawn(coppice, [...args, "--json"], { stdio: ["ignore", "pipe", "inherit"] });
  const lines: JsonLine[] = [];
  const watchers = new Set<() => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(JSON.parse(line));
    onLine(lines.at(-1));
    for (const watch of watchers) watch();
  });
  return {
    waitForLine: (passes) =>
      new Promise((resolve, reject) => {
        const last = (): string => JSON.stringify(lines.at(-1));
        const settle = (then: () => void): void => {
          clearTimeout(timer);
          watchers.delete(watch);
          child.off("exit", fail);
          then();
        };
        const timer = setTimeout(
          () =>
            settle(() =>
              reject(new Error(`coppice ${args.join(" ")}: not within ${patientMs} ms; last line ${last()}`)),
            ),
          patientMs,
        );
        const watch = (): void => {
          const found = lines.find(passes);
          if (found !== undefined) settle(() => resolve(found));
        };
        const fail = (): void =>
          settle(() => reject(new Error(`coppice ${args.join(" ")} ended before the line came`)));
        watchers.add(watch);
        child.once("exit", fail);
        watch();
      }),
    stop: (signal = "SIGTERM") => endProcess(child, signal),
  };
}

/** Sends a signal and waits until the process is gone. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}
