/** The command was called wrongly: exit code 2. The message is one sentence that says what to write instead. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
