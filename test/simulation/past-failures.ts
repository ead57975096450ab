import type { Scenario } from "./steps.ts";

/** Worlds in which something once went wrong, without the steps that had no part in it. Each is run every time. */
export const pastFailures: readonly Scenario[] = [
  // A device's message was lost, somebody else's record took its place, and the device's next one was taken behind that:
  // the acknowledgement of the last one counted for both, and the entry was seen by nobody else.
  {
    seed: 5,
    devices: 3,
    steps: [
      { kind: "lose", device: 4, direction: "toClient", what: "records", thenMs: 49 },
      { kind: "append", device: 9, count: 1, everyMs: 0, isLong: false, losesFirst: true, thenMs: 46 },
      { kind: "crash at commit", disk: 0, commits: 5, isDurable: true, thenMs: 28 },
      { kind: "append", device: 0, count: 5, everyMs: 0, isLong: false, losesFirst: false, thenMs: 60 },
      { kind: "start relay", thenMs: 665 },
      { kind: "replay", device: 5, pick: 1608078271, thenMs: 1227 },
      { kind: "start", device: 1, thenMs: 7921 },
      { kind: "replay", device: 3, pick: 82966179, thenMs: 54 },
      { kind: "take place", device: 3, delayMs: 711, thenMs: 35 },
      { kind: "duplicate", device: 6, direction: "toServer", what: "records", thenMs: 860 },
      { kind: "stall", device: 7, direction: "toServer", ms: 6144, thenMs: 9064 },
      { kind: "start relay", thenMs: 13 },
      { kind: "append", device: 10, count: 5, everyMs: 0, isLong: true, losesFirst: false, thenMs: 6311 },
    ],
  },
];
