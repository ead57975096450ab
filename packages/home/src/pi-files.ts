import { createHash } from "node:crypto";
import { join } from "node:path";

/** The folder of a home with what concerns pi. */
export function piFolderOf(homeFolder: string): string {
  return join(homeFolder, "pi");
}

/** A file name for any text, such as the id of a session or a path: its SHA-256 in hex. */
export function hashName(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
