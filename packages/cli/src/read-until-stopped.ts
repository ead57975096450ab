/** Thrown into whoever reads when the reading was stopped. */
export class ReadingStopped extends Error {
  override readonly name = "ReadingStopped";
}

/**
 * The chunks of an input until the signal is aborted; then throws `ReadingStopped` at once, also while the next chunk is
 * waited for, which may be for ever when somebody types. That chunk is lost, and the input is not read any further.
 */
export async function* readUntilStopped<Chunk>(
  input: AsyncIterable<Chunk>,
  signal: AbortSignal,
): AsyncGenerator<Chunk, void, void> {
  const stopped = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  const chunks = input[Symbol.asyncIterator]();
  let isWaiting = false;
  try {
    for (;;) {
      isWaiting = true;
      const next = chunks.next();
      // When it fails after the stop, nobody asks any more.
      next.catch(() => undefined);
      const result = await Promise.race([next, stopped]);
      if (result === undefined) throw new ReadingStopped("The reading was stopped.");
      isWaiting = false;
      if (result.done) return;
      yield result.value;
    }
  } finally {
    // An input that is waiting would give its answer to this only after the next chunk.
    if (!isWaiting) await chunks.return?.();
  }
}
