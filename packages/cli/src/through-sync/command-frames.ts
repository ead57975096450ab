/**
 * What a command and a running `sync` say to each other over the home's socket (SPEC CP72): one JSON object per line.
 * The order is request, `ready` or `declined`, `begin`, then output and `end`. Nothing is begun before `begin` was
 * read, so a command that has not sent it knows that it may act by itself.
 */

/** Number of this protocol; both sides must have the same, and the same version of the package. */
export const commandProtocol = 1;

/** A longer line ends the connection. Room for a message of 8 MiB, escaped; what is longer is done by the command itself. */
export const maxFrameChars: number = 24 * 1024 * 1024;

/** What a command asks for. */
export interface CommandRequest {
  readonly type: "command";
  readonly protocol: number;
  readonly version: string;
  /** As typed, without `node` and the script. */
  readonly args: readonly string[];
  /** Variables that change what a command prints. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdout: { readonly isTTY: boolean; readonly columns?: number };
  readonly stderr: { readonly isTTY: boolean };
  /** All of standard input, when the command reads it. */
  readonly input?: string;
}

/** From a command to `sync`. */
export type CommandFrame = CommandRequest | { readonly type: "begin" };

/** From `sync` to a command. */
export type SyncFrame =
  | { readonly type: "ready" }
  /** Nothing was begun and nothing will be. */
  | { readonly type: "declined"; readonly reason: string }
  | { readonly type: "output"; readonly to: "stdout" | "stderr"; readonly text: string }
  | { readonly type: "end"; readonly exitCode: number };

/** A frame as the line that carries it. */
export function encodeFrame(frame: CommandFrame | SyncFrame): string {
  return `${JSON.stringify(frame)}\n`;
}

/** Reads a line of a command; undefined when it is none this version knows. */
export function parseCommandFrame(line: string): CommandFrame | undefined {
  const frame = parseObject(line);
  if (frame?.type === "begin") return { type: "begin" };
  if (frame?.type !== "command" || typeof frame.protocol !== "number" || typeof frame.version !== "string")
    return undefined;
  const { args, env, stdout, stderr, input } = frame;
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === "string")) return undefined;
  if (!isObject(env) || !isObject(stdout) || !isObject(stderr)) return undefined;
  return {
    type: "command",
    protocol: frame.protocol,
    version: frame.version,
    args,
    env: Object.fromEntries(
      Object.entries(env).filter((pair): pair is [string, string] => typeof pair[1] === "string"),
    ),
    stdout: {
      isTTY: stdout.isTTY === true,
      ...(typeof stdout.columns === "number" ? { columns: stdout.columns } : {}),
    },
    stderr: { isTTY: stderr.isTTY === true },
    ...(typeof input === "string" ? { input } : {}),
  };
}

/** Reads a line of `sync`; undefined when it is none this version knows. */
export function parseSyncFrame(line: string): SyncFrame | undefined {
  const frame = parseObject(line);
  if (frame?.type === "ready") return { type: "ready" };
  if (frame?.type === "declined") return { type: "declined", reason: String(frame.reason) };
  if (frame?.type === "end" && typeof frame.exitCode === "number") return { type: "end", exitCode: frame.exitCode };
  const isOutput = frame?.type === "output" && (frame.to === "stdout" || frame.to === "stderr");
  if (!isOutput || typeof frame.text !== "string") return undefined;
  return { type: "output", to: frame.to as "stdout" | "stderr", text: frame.text };
}

function parseObject(line: string): { [field: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is { [field: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
