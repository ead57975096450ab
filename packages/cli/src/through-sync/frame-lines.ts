import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { maxFrameChars } from "./command-frames.ts";

/** Calls `onLine` with each line a socket brings; one that is too long ends the connection. */
export function readFrameLines(socket: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder("utf8");
  let parts: string[] = [];
  let chars = 0;
  socket.on("data", (chunk: Buffer) => {
    const [first = "", ...rest] = decoder.write(chunk).split("\n");
    parts.push(first);
    chars += first.length;
    for (const next of rest) {
      onLine(parts.join(""));
      parts = [next];
      chars = next.length;
    }
    if (chars > maxFrameChars) socket.destroy();
  });
}
