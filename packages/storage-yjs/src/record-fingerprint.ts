/** Bytes of a record before the length of its header part. SPEC RC, table "Record". */
const PREFIX_BYTES = 7;

/** Bytes of a number that a length can take at most. */
const MAX_LENGTH_BYTES = 5;

/**
 * A number of 53 bits that tells the prefix and header of one record from those of another, and its length. In a
 * sealed record they end in the tag over all of them, so another record's differ; by chance two agree once in 2^53.
 * Not a seal: it finds out that a record is another one, not who changed it.
 */
export function fingerprintRecord(bytes: Uint8Array): number {
  const end = findHeaderEnd(bytes);
  let low = 0xdeadbeef ^ bytes.length;
  let high = 0x41c6ce57 ^ end;
  let at = 0;
  for (; at + 4 <= end; at += 4) {
    // Inside the array: the bounds are checked once by the loop.
    const word =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    low = Math.imul(low ^ word, 0x9e3779b1);
    high = Math.imul(high ^ word, 0x5f356495);
    low ^= low >>> 15;
    high ^= high >>> 13;
  }
  for (; at < end; at++) {
    const byte = bytes[at] as number;
    low = Math.imul(low ^ byte, 0x9e3779b1);
    high = Math.imul(high ^ byte, 0x5f356495);
  }
  // The finish of cyrb53 (public domain): spreads each bit over both halves.
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  return (high & 0x1fffff) * 2 ** 32 + (low >>> 0);
}

/** Where the header part ends; the end of the record when it has no such part. */
function findHeaderEnd(bytes: Uint8Array): number {
  let length = 0;
  for (let index = 0; index < MAX_LENGTH_BYTES; index++) {
    const byte = bytes[PREFIX_BYTES + index];
    if (byte === undefined) break;
    length += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return Math.min(PREFIX_BYTES + index + 1 + length, bytes.length);
  }
  return bytes.length;
}
