import { open } from "node:fs/promises";
import { toFileError } from "./file-errors.ts";

/** Bytes asked for at a time: large enough that reading is not the cost, small enough to forget. */
const CHUNK_BYTES = 256 * 1024;

/**
 * The bytes of a file from its start to its end as it is when the end is reached. A chunk is valid until the next one
 * is asked for. Rejects on the first step with `not_found`, `invalid_session` (a folder) or `storage`. The file is
 * closed when the iteration ends, also by `return()`.
 */
export async function* readFileBytes(path: string): AsyncGenerator<Uint8Array, void, void> {
  const file = await open(path).catch((error: unknown) => {
    throw toFileError(error, path);
  });
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null).catch((error: unknown) => {
        throw toFileError(error, path);
      });
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
