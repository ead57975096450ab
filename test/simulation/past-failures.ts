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
  // A reading of the relay's log began, and before its first update was taken, what stood at its end was merged with what
  // had been appended behind that: the reading ended without it, and the room counted as unreadable.
  {
    seed: 1996713467,
    devices: 3,
    steps: [
      { kind: "start", device: 8, thenMs: 1293 },
      { kind: "crash", disk: 6, keepsCommit: true, thenMs: 1 },
      { kind: "crash", disk: 8, keepsCommit: false, thenMs: 29 },
      { kind: "faulty disk", disk: 9, fault: "isUnreadable", ms: 2225, thenMs: 1028 },
      { kind: "crash at commit", disk: 2, commits: 2, isDurable: true, thenMs: 18 },
      { kind: "replay", device: 0, pick: 1955926181, thenMs: 28 },
      { kind: "offline", device: 6, thenMs: 3241 },
      { kind: "move", device: 5, pick: 1299379345, thenMs: 1615 },
      { kind: "append", device: 11, count: 4, everyMs: 600, isLong: false, losesFirst: false, thenMs: 47 },
      { kind: "start", device: 9, thenMs: 1192 },
      { kind: "append", device: 8, count: 4, everyMs: 0, isLong: false, losesFirst: false, thenMs: 44 },
      { kind: "slow disk", disk: 0, commitMs: 40, thenMs: 57 },
      { kind: "online", device: 10, thenMs: 10562 },
      { kind: "restore", restarts: 7, thenMs: 53 },
      { kind: "append", device: 6, count: 3, everyMs: 0, isLong: true, losesFirst: false, thenMs: 1244 },
    ],
  },
  // A device held somebody's record at the place of a parent that the relay, put back to a backup, had got meanwhile. It
  // took the children before that showed, and wrote them again with the rest: without their parent, so in front of it.
  {
    seed: 23,
    devices: 2,
    steps: [
      { kind: "back up", thenMs: 20 },
      { kind: "offline", device: 1, thenMs: 28 },
      { kind: "append", device: 1, count: 2, everyMs: 30, isLong: false, losesFirst: false, thenMs: 31 },
      { kind: "take place", device: 1, delayMs: 486, thenMs: 1179 },
      { kind: "crash", disk: 2, keepsCommit: false, thenMs: 1072 },
      { kind: "online", device: 1, thenMs: 51 },
      { kind: "restore", restarts: 1, thenMs: 1334 },
    ],
  },
  // A relay lost everything, and what one device waited for came from its author after the relay had answered: nothing was
  // missing, the digests were equal, and the device was catching up for good.
  {
    seed: 306015796,
    devices: 3,
    steps: [
      { kind: "lose", device: 6, direction: "toClient", what: "records", thenMs: 3371 },
      { kind: "append", device: 11, count: 4, everyMs: 30, isLong: true, losesFirst: false, thenMs: 181 },
      { kind: "crash at commit", disk: 1, commits: 1, isDurable: true, thenMs: 26 },
      { kind: "wipe", restarts: 1, thenMs: 51 },
    ],
  },
  // Records gave way and came again behind those written after them. The number of the device's last one was too large for
  // the log while those were missing, and it was not looked at again when they were back: the place fell back by one.
  {
    seed: 905749280,
    devices: 2,
    steps: [
      { kind: "append", device: 3, count: 2, everyMs: 0, isLong: false, losesFirst: false, thenMs: 0 },
      { kind: "take place", device: 0, delayMs: 131, thenMs: 0 },
      { kind: "slow disk", disk: 0, commitMs: 1, thenMs: 200 },
      { kind: "wipe", restarts: 9, thenMs: 195 },
      { kind: "start", device: 0, thenMs: 45 },
      { kind: "close", device: 3, thenMs: 60 },
      { kind: "take place", device: 3, delayMs: 100, thenMs: 0 },
      { kind: "start", device: 0, thenMs: 60 },
      { kind: "offline", device: 0, thenMs: 1500 },
      { kind: "start relay", thenMs: 0 },
      { kind: "append", device: 0, count: 1, everyMs: 0, isLong: false, losesFirst: false, thenMs: 0 },
      { kind: "start", device: 0, thenMs: 1500 },
    ],
  },
  // A relay ended while a room was being read: that its log was released was reported as a room that cannot be read, and the
  // reader was told that the disk had failed.
  {
    seed: 1170516758,
    devices: 2,
    steps: [
      { kind: "slow disk", disk: 5, commitMs: 400, thenMs: 0 },
      { kind: "take place", device: 0, delayMs: 100, thenMs: 0 },
      { kind: "back up", thenMs: 97 },
      { kind: "take place", device: 0, delayMs: 100, thenMs: 22 },
      { kind: "stop relay", thenMs: 60 },
      { kind: "append", device: 0, count: 1, everyMs: 0, isLong: false, losesFirst: false, thenMs: 1500 },
      { kind: "start relay", thenMs: 0 },
      { kind: "cut", device: 0, how: "reset", thenMs: 0 },
      { kind: "append", device: 0, count: 1, everyMs: 0, isLong: false, losesFirst: false, thenMs: 0 },
      { kind: "crash", disk: 0, keepsCommit: false, thenMs: 0 },
    ],
  },
];
