import { UsageError } from "./usage-error.ts";

// A message, not a file: more than this is a mistake, and a record of this size could not travel anyway.
const maxInputBytes = 8 * 1024 * 1024;

/** All of standard input as text. More than 8 MiB, or bytes that are not UTF-8, are wrong usage. */
export async function readStandardInput(stdin: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let byteCount = 0;
  for await (const chunk of stdin) {
    byteCount += chunk.length;
    if (byteCount > maxInputBytes)
      throw new UsageError("Standard input is longer than the 8 MiB a message may have; shorten it.");
    chunks.push(chunk);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new UsageError("Standard input is not UTF-8 text; convert it first.");
  }
}
