/** Draws a number from 0 inclusive to 1 exclusive, evenly. */
export type RandomSource = () => number;

/** So many failures in a row, some 45 s with the default longest wait, are taken for a relay that will be away for long. */
const failuresUntilPatient = 60;
const patienceFactor = 10;

/** Between two attempts with a refused token at least this: 2 and 8 more of them make 10 in a minute, in ms. */
const leastSignInDelayMs = 7_000;
const longestSignInDelayMs = 60_000;

/**
 * How long to wait before the next attempt to connect, in ms: anything up to 200 ms after the first failure in a row,
 * doubled with each further one up to `longestMs`, so that the devices of a relay that comes back do not all come at
 * once. After a minute of failures up to ten times as long. SPEC SY11.
 */
export function pickRetryDelayMs(failures: number, longestMs: number, random: RandomSource): number {
  if (failures === 0) return 0;
  const ceilingMs =
    failures > failuresUntilPatient ? patienceFactor * longestMs : Math.min(longestMs, 100 * 2 ** failures);
  return random() * ceilingMs;
}

/**
 * How long to wait before a token is tried again after so many refusals in a row, in ms: not at all after the first, as
 * a token that has expired is replaced by a fresh one; then from 7 s to twice as long each time, up to a minute.
 * SPEC SY14.
 */
export function pickSignInDelayMs(refusals: number, random: RandomSource): number {
  if (refusals <= 1) return 0;
  const ceilingMs = Math.min(longestSignInDelayMs, leastSignInDelayMs * 2 ** (refusals - 1));
  return leastSignInDelayMs + random() * (ceilingMs - leastSignInDelayMs);
}
