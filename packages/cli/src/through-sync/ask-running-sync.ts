import type { Socket } from "node:net";
import { SessionError } from "@coppice/core";
import { type CommandRequest, commandProtocol, encodeFrame, maxFrameChars, parseSyncFrame } from "./command-frames.ts";
import { readFrameLines } from "./frame-lines.ts";
import { connectTo, readSyncAddress } from "./sync-address.ts";

/** A command that may be done by a running `sync`. */
export interface AskOptions {
  readonly homeFolder: string;
  readonly version: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: { write(text: string): unknown; readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean };
  /** Reads standard input, once there is somebody to be given it; undefined: the command does not read it. */
  readonly readInput?: (() => Promise<string>) | undefined;
  /** How long a `sync` may take to say that it is ready, in ms. Default 3,000. */
  readonly readyWithinMs?: number;
}

/** One that is stopped or stuck does not hold up a command that can act by itself. */
const defaultReadyWithinMs = 3_000;

/** What of the environment changes how a command prints. */
const printingVariables = ["COLUMNS", "COPPICE_DEBUG", "NO_COLOR", "TERM"];

/**
 * Has a running `sync` of the home do a command and passes its output on. Settles with the exit code; or with undefined
 * when there is none, it declines, or does not answer: nothing was begun then, and the caller acts by itself. Rejects
 * `closed` when it ended in the middle.
 */
export async function askRunningSync(options: AskOptions): Promise<number | undefined> {
  const address = await readSyncAddress(options.homeFolder);
  const socket = address === undefined ? undefined : await connectTo(address);
  if (socket === undefined) return undefined;
  try {
    const request = encodeFrame(await makeRequest(options));
    if (request.length > maxFrameChars) return undefined;
    return await converse(socket, request, options);
  } finally {
    socket.destroy();
  }
}

async function makeRequest({ version, args, env, stdout, stderr, readInput }: AskOptions): Promise<CommandRequest> {
  const input = await readInput?.();
  return {
    type: "command",
    protocol: commandProtocol,
    version,
    args,
    env: Object.fromEntries(printingVariables.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))),
    stdout: {
      isTTY: stdout.isTTY === true,
      ...(stdout.columns === undefined ? {} : { columns: stdout.columns }),
    },
    stderr: { isTTY: stderr.isTTY === true },
    ...(input === undefined ? {} : { input }),
  };
}

function converse(
  socket: Socket,
  request: string,
  { stdout, stderr, readyWithinMs = defaultReadyWithinMs }: AskOptions,
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    let hasBegun = false;
    const timer = setTimeout(() => socket.destroy(), readyWithinMs);
    socket.on("error", () => undefined); // "close" follows
    socket.on("close", () => {
      clearTimeout(timer);
      if (!hasBegun) return resolve(undefined);
      reject(
        new SessionError(
          "closed",
          "The running `coppice sync` ended before it had done this; nothing is known to be lost. Look at the session before you run the command again: it may have been done.",
        ),
      );
    });
    readFrameLines(socket, (line) => {
      const frame = parseSyncFrame(line);
      if (frame?.type === "ready" && !hasBegun) {
        clearTimeout(timer);
        hasBegun = true;
        socket.write(encodeFrame({ type: "begin" }));
      } else if (frame?.type === "output" && hasBegun) (frame.to === "stdout" ? stdout : stderr).write(frame.text);
      else if (frame?.type === "end" && hasBegun) resolve(frame.exitCode);
      else if (frame?.type === "declined") resolve(undefined);
      else socket.destroy();
    });
    socket.write(request);
  });
}
