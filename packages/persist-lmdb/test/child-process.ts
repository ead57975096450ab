import { type ChildProcess, execFile, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";

const packageFolder = fileURLToPath(new URL("..", import.meta.url));

/** A child process that runs one of the scripts in `children/`. */
export interface Child {
  readonly process: ChildProcess;
  /** The next line of its standard output. Rejects when it ends before. */
  nextLine(): Promise<string>;
  /** The lines not taken yet, up to its end. */
  remainingLines(): Promise<string[]>;
  /** Writes a line to its standard input. */
  write(line: string): void;
  /** Settles when it has ended. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>;
}

/** Children import the built package: they run in a Node that knows no TypeScript. */
export async function buildIfStale(): Promise<void> {
  const modifiedMs = async (path: string): Promise<number> =>
    (await stat(join(packageFolder, path)).catch(() => undefined))?.mtimeMs ?? 0;
  const isFresh = async (source: string): Promise<boolean> =>
    (await modifiedMs(`src/${source}`)) <= (await modifiedMs(`dist/${source.replace(/ts$/, "js")}`));
  const sources = await readdir(join(packageFolder, "src"));
  if ((await Promise.all(sources.map(isFresh))).every(Boolean)) return;
  const tsc = createRequire(import.meta.url).resolve("typescript/package.json");
  await promisify(execFile)(process.execPath, [join(tsc, "../bin/tsc"), "-b", packageFolder]);
}

/** Starts `children/<script>`; it is killed at the end of the test if it still runs. */
export function startChild(script: string, args: readonly string[], options: SpawnOptions = {}): Child {
  const path = fileURLToPath(new URL(`children/${script}`, import.meta.url));
  return startProcess(process.execPath, [path, ...args], options);
}

/** The same for any command. */
export function startProcess(command: string, args: readonly string[], options: SpawnOptions = {}): Child {
  const child = spawn(command, args, { ...options, stdio: ["pipe", "pipe", "pipe"] });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  // A child that was killed cannot be written to; its end is what the tests look at.
  child.stdin?.on("error", () => undefined);
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  if (child.stdout === null) throw new Error("the child has no standard output");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal, stderr }));
  const remainingLines = async (): Promise<string[]> => {
    const rest: string[] = [];
    for (let next = await lines.next(); !next.done; next = await lines.next()) rest.push(next.value);
    return rest;
  };
  const nextLine = async (): Promise<string> => {
    const next = await lines.next();
    if (next.done) throw new Error(`the child ended: ${JSON.stringify(await ended)}`);
    return next.value;
  };
  return { process: child, nextLine, remainingLines, write: (line) => child.stdin?.write(`${line}\n`), ended };
}
