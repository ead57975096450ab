/** Runs the `coppice` command as a child process, the way a user's shell would. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const commandPath = fileURLToPath(new URL("../bin/coppice.mjs", import.meta.resolve("coppice")));

/** A command that failed: what it was, its exit code, and what it said. */
class CommandError extends Error {
  name = "CommandError";
}

/** Runs a command to its end. Settles with its stdout; rejects with `CommandError` when its exit code is not 0. */
export async function runCoppice(args) {
  const child = startCoppice(args);
  let stdout = "";
  child.process.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  const { code, signal } = await child.ended;
  if (code === 0) return stdout;
  throw new CommandError(`coppice ${args.join(" ")} ended with ${signal ?? code}: ${child.stderr().trim()}`);
}

/** Runs a command with `--json` and settles with the object it prints. */
export async function runCoppiceJson(args) {
  return JSON.parse(await runCoppice([...args, "--json"]));
}

/**
 * Starts a command that stays up and prints one JSON object per line. `waitFor` settles with the first object, from
 * those already printed on, that passes the filter; it rejects when the command ends before.
 */
export function followCoppice(args) {
  const child = startCoppice([...args, "--json"]);
  const printed = [];
  const waiters = new Set();
  createInterface({ input: child.process.stdout }).on("line", (line) => {
    printed.push(JSON.parse(line));
    for (const waiter of waiters) waiter();
  });
  const failed = child.ended.then(({ code, signal }) => {
    throw new CommandError(`coppice ${args.join(" ")} ended with ${signal ?? code}: ${child.stderr().trim()}`);
  });
  // Ending after `stop` is no failure; whoever waits gets the rejection from `waitFor`.
  failed.catch(() => undefined);
  return {
    waitFor: (isWanted) => {
      const found = new Promise((resolve) => {
        const check = () => {
          const match = printed.find(isWanted);
          if (match === undefined) return;
          waiters.delete(check);
          resolve(match);
        };
        waiters.add(check);
        check();
      });
      return Promise.race([found, failed]);
    },
    stop: async (signal = "SIGTERM") => {
      child.process.kill(signal);
      await child.ended;
    },
  };
}

function startCoppice(args) {
  const process_ = spawn(process.execPath, [commandPath, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let stderr = "";
  process_.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const ended = new Promise((resolve, reject) => {
    process_.on("error", reject);
    process_.on("close", (code, signal) => resolve({ code, signal }));
  });
  return { process: process_, ended, stderr: () => stderr };
}
