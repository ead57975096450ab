import { describe } from "vitest";
import { findPiProgram } from "../src/pi-program.ts";

/** `describe` for tests that start a real pi; where none can run they are skipped, and their title says why. */
export function describePi(name: string, tests: () => void): void {
  const program = findPiProgram();
  if (program.ok) describe(name, tests);
  else describe.skip(`${name} (skipped: ${program.reason})`, tests);
}
