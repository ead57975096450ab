import { spawn } from "node:child_process";
import { SessionError } from "@coppice/core";
import { readErrorCode } from "@coppice/home";

/** What a shell says of a program that a signal ended, above the signal's number, which Node does not give. */
const endedBySignal = 128;

/**
 * Runs pi on a session file in this terminal, and settles with its exit code. Rejects `not_found`, naming the file, when
 * there is no pi.
 */
export function runPi(file: string, args: readonly string[], cwd: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn("pi", ["--session", file, ...args], { cwd, stdio: "inherit" });
    // Ctrl-C is for pi, which is in the same terminal.
    const ignore = (): void => undefined;
    process.on("SIGINT", ignore);
    child.once("error", (error) => {
      process.off("SIGINT", ignore);
      const why = readErrorCode(error) === "ENOENT" ? "pi was not found" : `pi could not be started (${error.message})`;
      reject(
        new SessionError("not_found", `${why}; the session is in ${file}, to be opened by \`pi --session\`.`, {
          cause: error,
        }),
      );
    });
    child.once("close", (code) => {
      process.off("SIGINT", ignore);
      resolve(code ?? endedBySignal);
    });
  });
}
