/**
 * The padded length of a payload of less than 4 GiB: at most 12 % more, and only O(log log n) bits of the length stay visible.
 * Padmé, Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication with PURBs" (2019).
 */
export function padmeLength(length: number): number {
  if (length < 2) return length;
  const exponent = floorLog2(length);
  const step = 2 ** Math.max(exponent - floorLog2(exponent) - 1, 0);
  return Math.ceil(length / step) * step;
}

/** Of 1 to 2^32 - 1. `Math.log2` may differ in the last bit between engines. */
function floorLog2(value: number): number {
  return 31 - Math.clz32(value);
}
