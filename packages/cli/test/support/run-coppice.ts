import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const packageFolder = fileURLToPath(new URL("../..", import.meta.url));
const commandPath = join(packageFolder, "bin", "coppice.mjs");

/** What a command said and how it ended. */
export interface CommandResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a command is started. */
export interface RunOptions {
  readonly env?: Record<string, string>;
  /** Written to standard input; absent: an empty one. */
  readonly input?: string;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
}

/** A command that stays up and prints one JSON object per line. */
export interface FollowedCommand {
  /** The first object, from those already printed on, that passes the filter. */
  waitFor(isWanted: (line: JsonLine) => boolean): Promise<JsonLine>;
  /** Sends the signal and settles when the command has ended. */
  stop(signal?: NodeJS.Signals): Promise<CommandResult>;
}

/** Any object a command prints; tests say what they expect in it. */
// biome-ignore lint/suspicious/noExplicitAny: tests read fields of many shapes, and a wrong field fails the test
export type JsonLine = any;

/**
 * The tests run the command as users do, from `dist`. Throws when that is missing or older than a source file:
 * compiling it here would race with other test files that do the same.
 */
export function requireFreshBuild(): void {
  const builtMs = existsSync(join(packageFolder, "tsconfig.tsbuildinfo"))
    ? statSync(join(packageFolder, "tsconfig.tsbuildinfo")).mtimeMs
    : 0;
  const sources = readdirSync(join(packageFolder, "src"), { recursive: true, withFileTypes: true });
  const isStale = sources.some((item) => item.isFile() && statSync(join(item.parentPath, item.name)).mtimeMs > builtMs);
  if (isStale)
    throw new Error("packages/cli/dist is missing or older than src; run `pnpm build` first, or `npm test`.");
}

/** A new empty folder, removed when the test has finished. */
export async function makeTempFolder(mode = 0o700): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "coppice-test-"));
  await chmod(folder, mode);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs `coppice` to its end, whatever its exit code. */
export async function runCoppice(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
  const child = startProcess(args, options);
  let stdout = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stdin?.end(options.input ?? "");
  const ended = await waitForEnd(child);
  return { ...ended, stdout };
}

/**
 * Runs a command that reads `input` and sends it a signal in the middle: when it has read the first half, and before
 * it is given the second, if it is given that at all. Standard input then stays open, as that of a program that has not
 * noticed.
 */
export async function interruptCoppice(
  args: readonly string[],
  input: string,
  signal: NodeJS.Signals,
  afterwards: "goes on" | "is silent" = "goes on",
): Promise<CommandResult> {
  const child = startProcess(args, {});
  const { stdin } = child;
  if (stdin === null) throw new Error("The command's stdin is not a pipe.");
  let stdout = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  const ended = waitForEnd(child);
  // It goes away without having read everything.
  stdin.on("error", () => undefined);
  const half = input.length >> 1;
  await new Promise<void>((resolve) => {
    stdin.write(input.slice(0, half), () => resolve());
  });
  child.kill(signal);
  if (afterwards === "goes on") stdin.write(input.slice(half));
  return { ...(await ended), stdout };
}

/** Runs `coppice` with `--json` and settles with what it printed; throws when it failed. */
async function runCoppiceJson(args: readonly string[], options?: RunOptions): Promise<JsonLine> {
  const result = await runCoppice([...args, "--json"], options);
  if (result.code !== 0) throw new Error(`coppice ${args.join(" ")} ended with ${result.code}: ${result.stderr}`);
  return JSON.parse(result.stdout);
}

/** Starts a command that stays up; it is stopped when the test has finished, if the test did not do it. */
export function followCoppice(args: readonly string[]): FollowedCommand {
  const child = startProcess([...args, "--json"], {});
  child.stdin?.end();
  const printed: JsonLine[] = [];
  const waiters = new Set<() => void>();
  if (child.stdout === null) throw new Error("The command's stdout is not a pipe.");
  createInterface({ input: child.stdout }).on("line", (line) => {
    printed.push(JSON.parse(line));
    for (const waiter of waiters) waiter();
  });
  const ended = waitForEnd(child);
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<CommandResult> => {
    child.kill(signal);
    return { ...(await ended), stdout: printed.map((line) => JSON.stringify(line)).join("\n") };
  };
  onTestFinished(async () => {
    // Whatever it is busy with: a test that failed may have left it in any state.
    await stop("SIGKILL");
  });
  return {
    waitFor: (isWanted) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const found = printed.find(isWanted);
          if (found === undefined) return;
          waiters.delete(check);
          resolve(found);
        };
        waiters.add(check);
        check();
        ended.then(
          ({ code, stderr }) => reject(new Error(`coppice ${args.join(" ")} ended with ${code}: ${stderr}`)),
          reject,
        );
      }),
    stop,
  };
}

/** A relay on a free port with its own data. */
export async function startRelay(
  dataFolder?: string,
  port = 0,
): Promise<{ url: string; port: number; dataFolder: string; stop: FollowedCommand["stop"] }> {
  const folder = dataFolder ?? (await makeTempFolder());
  const command = followCoppice(["serve", "--port", String(port), "--data", folder]);
  const line = await command.waitFor(({ coppice }) => coppice === "serve");
  return { url: line.url, port: line.port, dataFolder: folder, stop: command.stop };
}

/** One device: a home of its own, and commands that act on it. */
export interface TestDevice {
  readonly home: string;
  run(args: readonly string[], options?: RunOptions): Promise<CommandResult>;
  runJson(args: readonly string[], options?: RunOptions): Promise<JsonLine>;
  follow(args: readonly string[]): FollowedCommand;
}

/** Makes a device and its home; `from` is what `coppice init` is given. */
export async function makeDevice(name: string, from?: string): Promise<TestDevice> {
  const device = findDevice(join(await makeTempFolder(), name));
  await device.runJson(["init", ...(from === undefined ? [] : [from]), "--name", name]);
  return device;
}

/** The device of a home. */
export function findDevice(home: string): TestDevice {
  return {
    home,
    run: (args, options) => runCoppice([...args, "--home", home], options),
    runJson: (args, options) => runCoppiceJson([...args, "--home", home], options),
    follow: (args) => followCoppice([...args, "--home", home]),
  };
}

function startProcess(args: readonly string[], { env, cwd, uid, gid }: RunOptions): ChildProcess {
  // What the developer's own shell has set must not reach the command.
  const {
    COPPICE_HOME: _home,
    COPPICE_DEBUG: _debug,
    NO_COLOR: _color,
    XDG_DATA_HOME: _data,
    ...inherited
  } = process.env;
  return spawn(process.execPath, [commandPath, ...args], {
    env: { ...inherited, ...env },
    stdio: "pipe",
    ...(cwd === undefined ? {} : { cwd }),
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  });
}

function waitForEnd(child: ChildProcess): Promise<Omit<CommandResult, "stdout">> {
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, stderr }));
  });
}
