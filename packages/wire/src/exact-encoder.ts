import { createEncoder, type Encoder, toUint8Array } from "lib0/encoding";

/** Bytes a number takes as a varuint. */
export function varUintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) bytes += 1;
  return bytes;
}

/**
 * Encodes into one buffer of a size known beforehand. lib0's encoder grows by doubling and copies at the end, which
 * for chunks of 256 KiB makes three times as much garbage as data. A size that is wrong costs speed, nothing else.
 */
export function encodeExactly(byteLength: number, write: (encoder: Encoder) => void): Uint8Array {
  const encoder = createEncoder();
  encoder.cbuf = new Uint8Array(byteLength);
  write(encoder);
  const isExact = encoder.bufs.length === 0 && encoder.cpos === byteLength;
  return isExact ? encoder.cbuf : toUint8Array(encoder);
}
