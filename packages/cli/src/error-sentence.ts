import { SessionError } from "@coppice/core";
import { toPrintableLine } from "./terminal-text.ts";
import { UsageError } from "./usage-error.ts";

/** What the command says on stderr and how it exits. */
export interface Failure {
  /** One line. */
  readonly sentence: string;
  /** 1: it failed. 2: it was called wrongly. */
  readonly exitCode: 1 | 2;
}

/** Turns whatever was thrown into one line and an exit code. */
export function toFailure(error: unknown): Failure {
  // Messages name ids and names that other devices wrote.
  const message = toPrintableLine(error instanceof Error ? error.message : String(error));
  if (error instanceof UsageError) return { sentence: message, exitCode: 2 };
  if (error instanceof SessionError) return { sentence: message, exitCode: 1 };
  return {
    sentence: `Something unexpected went wrong: ${message || "no message"}; set COPPICE_DEBUG=1 to see where.`,
    exitCode: 1,
  };
}
