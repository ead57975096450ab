import { createHash } from "node:crypto";

/**
 * An id that depends on nothing but its parts: SHA-256 over them, joined by line breaks, shaped as a UUIDv8 (RFC 9562).
 * The first part names the purpose and its version.
 */
export function deriveId(purpose: string, ...parts: readonly (string | number)[]): string {
  const digest = createHash("sha256")
    .update([purpose, ...parts].join("\n"))
    .digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-");
}
