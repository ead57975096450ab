/** The process side of the `coppice` command: arguments and signals in, exit code out. */
import { readErrorCode } from "@coppice/home";
import { runCli } from "./run-cli.ts";

// `coppice log | head`: the reader has seen enough, which is no failure. The exit stops work whose output nobody reads.
process.stdout.on("error", (error) => {
  if (readErrorCode(error) !== "EPIPE") throw error;
  process.exit(0);
});

/** What ends in order does so in less; a disk or a network that hangs must not keep a service from ending, in ms. */
const endWithinMs = 15_000;

function endSoon(): void {
  const timer = setTimeout(() => {
    process.stderr.write(
      `coppice: It could not end in order within ${endWithinMs / 1000} s and was ended; what it said was saved is saved.\n`,
    );
    process.exit(1);
  }, endWithinMs);
  timer.unref();
}

process.exitCode = await runCli(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  env: process.env,
  platform: process.platform,
  listenForStop: () => {
    const stop = new AbortController();
    // Only the first: a second Ctrl-C ends the process at once, as if nobody listened.
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => {
        stop.abort();
        endSoon();
      });
    }
    return stop.signal;
  },
});
// A command that was stopped while it waited for standard input still has it open.
process.stdin.destroy();
