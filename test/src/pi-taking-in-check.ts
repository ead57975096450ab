import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommandJson } from "./command-process.ts";
import type { PiHome } from "./pi-home.ts";
import { coppiceExtension, type PiLab } from "./pi-lab.ts";
import { type PiProcess, type PiRecord, startPi } from "./pi-process.ts";

/** About 5 MB in entries of 2.5 kB, as a long session has them. */
const entriesPerSession = 2_000;
const textOfEntry = "what a tool has printed, a line of it after the other\n".repeat(44);
const promptsBefore = 30;

/**
 * Takes 10 sessions of 5 MB in while the user of the same pi goes on prompting; says how long prompts took before and
 * meanwhile, from the prompt to the end of the run.
 */
export async function takeInBesidePrompts(lab: PiLab): Promise<string> {
  const laptop = await lab.addDevice("laptop");
  const ids = await Promise.all(Array.from({ length: 10 }, () => addSession(laptop)));
  const all = ({ options }: PiRecord): PiRecord => ({ value: options[0] });
  const pi = await startPi({ home: laptop, cwd: lab.project, extensions: [coppiceExtension] }, all);
  try {
    // The first ones compile what the others find ready.
    await timePrompts(pi, promptsBefore, () => false);
    const before = await timePrompts(pi, promptsBefore, () => false);
    const startedAt = performance.now();
    const from = pi.records.length;
    await pi.prompt("/coppice import");
    const isOver = (): boolean => pi.records.slice(from).some(isTakenIn);
    const meanwhile = await timePrompts(pi, Number.POSITIVE_INFINITY, isOver);
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
    const listed = (await runCommandJson(["sessions", "--home", laptop.coppiceHome])).sessions.map(
      ({ id }: PiRecord) => id,
    );
    assert.deepEqual(
      ids.filter((id) => !listed.includes(id)),
      [],
      "not all sessions were taken in",
    );
    return `50 MB in ${seconds} s; a prompt took ${describe(before)} before, ${describe(meanwhile)} meanwhile`;
  } finally {
    await pi.kill();
  }
}

const isTakenIn = ({ type, method, message }: PiRecord): boolean =>
  type === "extension_ui_request" && method === "notify" && /sessions are taken in\.$/.test(message);

async function timePrompts(pi: PiProcess, most: number, isOver: () => boolean): Promise<number[]> {
  const tookMs: number[] = [];
  while (tookMs.length < most && !isOver()) {
    const startedAt = performance.now();
    await pi.prompt(`prompt ${tookMs.length}`);
    tookMs.push(performance.now() - startedAt);
  }
  return tookMs;
}

async function addSession(home: PiHome): Promise<string> {
  const id = randomUUID();
  const timestamp = "2026-01-01T00:00:00.000Z";
  const lines: object[] = [{ type: "session", version: 3, id, timestamp, cwd: home.cwd }];
  for (let at = 0; at < entriesPerSession; at += 1) {
    const message = { role: "user", content: `${at} ${textOfEntry}`, timestamp: 0 };
    const parentId = at === 0 ? null : toId(at - 1);
    lines.push({ type: "message", id: toId(at), parentId, timestamp, message });
  }
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  await writeFile(join(home.sessionDir, `2026-01-01T00-00-00-000Z_${id}.jsonl`), text);
  return id;
}

const toId = (at: number): string => at.toString(16).padStart(8, "0");

function describe(tookMs: readonly number[]): string {
  const sorted = [...tookMs].sort((left, right) => left - right);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(0);
  return `${at(0.5)} / ${at(0.99)} / ${at(1)} ms (median, p99, most of ${tookMs.length})`;
}
