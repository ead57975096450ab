import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCopiedHomeChecks } from "./copied-home-checks.ts";
import { createHostGoneChecks } from "./host-gone-checks.ts";
import { writeMadeSession } from "./made-session.ts";
import type { NetworkCheck } from "./network-lab.ts";
import { createOfflineWeekCheck } from "./offline-week-check.ts";
import { createRestoredRelayChecks } from "./restored-relay-checks.ts";
import { type PlainSessionFile, readPlainSessionFiles } from "./session-files.ts";

/**
 * What must hold when devices are lost, copied and away for long: to be run one after the other. `count` entries of the
 * file are appended.
 */
export function createDeviceChecks(file: PlainSessionFile, count: number): NetworkCheck[] {
  return [
    ...createHostGoneChecks(file, count),
    ...createCopiedHomeChecks(Math.ceil(count / 20)),
    createOfflineWeekCheck(Math.ceil(count / 20)),
    ...createRestoredRelayChecks(Math.ceil(count / 20)),
  ];
}

/** The largest session file of a folder; without one a file of so many entries is made. */
export function readLargestFile(folder: string | undefined, entries: number): PlainSessionFile {
  return folder === undefined ? makeFile(entries) : findLargest(folder);
}

function findLargest(folder: string): PlainSessionFile {
  const [first, ...others] = readPlainSessionFiles(folder);
  if (first === undefined) throw new Error(`there is no well-formed session file of format 3 in ${folder}`);
  return others.reduce((most, next) => (next.entryLines.length > most.entryLines.length ? next : most), first);
}

function makeFile(entries: number): PlainSessionFile {
  const folder = mkdtempSync(join(tmpdir(), "coppice-made-"));
  try {
    writeMadeSession(join(folder, "made.jsonl"), entries);
    return findLargest(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
