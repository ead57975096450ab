import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, int32, type PRNG } from "lib0/prng";
import { type CallProcess, startCallProcess } from "./call-process.ts";
import type { AppendedNotice, HomeCalls, HomeReport } from "./home-calls.ts";

/** How the rounds are run. */
export interface SharedHomeOptions {
  /** Rounds in which one of the two is killed. */
  readonly killRounds: number;
  /** Entries that each of the two appends. */
  readonly entries: number;
  readonly seed: number;
}

/** What came out. */
export interface SharedHomeReport {
  /** Entries both had in the end in the round in which nobody was killed. */
  readonly entries: number;
  /** From an entry's durable append to another process having it, in ms. */
  readonly delay: Delays;
  /** The same where each writes by itself, one entry at a time. */
  readonly quietDelay: Delays;
  readonly killRounds: number;
  /** Entries that a process had been promised before it was killed. */
  readonly promisedByKilled: number;
  /** Rounds in which the kill met a process that had not appended everything. */
  readonly roundsKilledWhileWriting: number;
}

interface Delays {
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Bounds a wait that hangs; nothing waits this long when all is well. */
const patientMs = 120_000;
/** Appends that each process has under way while it writes as fast as it can. */
const underWay = 8;

/**
 * Two processes write to one session of one home at once, without a relay, and a third opens it in the middle. Then,
 * on the same home, one of two is killed at a random moment, again and again. Throws when a process does not see all,
 * or when anything is missing or doubled whose append had resolved.
 */
export async function runSharedHomeRounds({ killRounds, entries, seed }: SharedHomeOptions): Promise<SharedHomeReport> {
  const home = mkdtempSync(join(tmpdir(), "coppice-shared-home-"));
  const prng = create(seed);
  try {
    const both = await writeAtOnce(home, entries);
    const quietDelay = await writeInTurn(home);
    let promisedByKilled = 0;
    let roundsKilledWhileWriting = 0;
    for (let round = 0; round < killRounds; round += 1) {
      const promised = await killOne(home, { round, entries, prng, when: `round ${round}, seed ${seed}` });
      promisedByKilled += promised;
      if (promised < entries) roundsKilledWhileWriting += 1;
    }
    return { ...both, quietDelay, killRounds, promisedByKilled, roundsKilledWhileWriting };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** One process of the home and what it has been promised. */
class Writer {
  readonly promised: Map<string, number> = new Map();
  readonly #process: CallProcess<HomeCalls>;

  private constructor() {
    this.#process = startCallProcess<HomeCalls>("home-process", (notice) => {
      const { id, atMs } = notice as AppendedNotice;
      this.promised.set(id, atMs);
    });
  }

  static async start(home: string, sessionId: string, creates: boolean): Promise<Writer> {
    const writer = new Writer();
    await writer.#process.ask("open", { home, sessionId, creates });
    return writer;
  }

  async write(label: string, count: number, atOnce: number): Promise<void> {
    await this.#process.ask("write", { label, count, underWay: atOnce });
  }

  report(entries: number): Promise<HomeReport> {
    return this.#process.ask("report", { entries, timeoutMs: patientMs });
  }

  kill(): Promise<void> {
    return this.#process.kill();
  }

  async end(): Promise<void> {
    await this.#process.ask("close", null);
    await this.#process.kill();
  }
}

async function writeAtOnce(home: string, entries: number): Promise<Pick<SharedHomeReport, "entries" | "delay">> {
  const writers: Writer[] = [];
  try {
    const first = await Writer.start(home, "at-once", true);
    writers.push(first);
    const second = await Writer.start(home, "at-once", false);
    writers.push(second);
    const writing = [first.write("first", entries, underWay), second.write("second", entries, underWay)];
    const late = await Writer.start(home, "at-once", false);
    writers.push(late);
    await Promise.all(writing);
    const reports = await Promise.all(writers.map((writer) => writer.report(2 * entries)));
    const promised = new Map([...first.promised, ...second.promised]);
    assert.equal(promised.size, 2 * entries, "every append resolved");
    for (const { ids } of reports) assertHolds(ids, promised.keys(), "both write at once");
    assert.deepEqual(reports[1]?.ids, reports[0]?.ids, "one log order");
    assert.deepEqual(reports[2]?.ids, reports[0]?.ids, "one log order for who came later");
    const delay = summarize(reports.flatMap(({ seen }) => delaysOf(seen, promised)));
    for (const writer of writers) await writer.end();
    return { entries: 2 * entries, delay };
  } finally {
    for (const writer of writers) await writer.kill();
  }
}

async function writeInTurn(home: string): Promise<Delays> {
  const writers = [await Writer.start(home, "in-turn", true), await Writer.start(home, "in-turn", false)] as const;
  const [first, second] = writers;
  try {
    const rounds = 50;
    for (let at = 1; at <= rounds; at += 1) {
      const [writer, reader] = at % 2 === 0 ? [first, second] : [second, first];
      await writer.write(`turn ${at}`, 1, 1);
      await reader.report(at);
    }
    const promised = new Map([...first.promised, ...second.promised]);
    const reports = await Promise.all(writers.map((writer) => writer.report(rounds)));
    return summarize(reports.flatMap(({ seen }) => delaysOf(seen, promised)));
  } finally {
    for (const writer of writers) await writer.kill();
  }
}

/** Returns how many entries of the killed process had resolved. */
async function killOne(
  home: string,
  { round, entries, prng, when }: { round: number; entries: number; prng: PRNG; when: string },
): Promise<number> {
  const sessionId = `kill-${round}`;
  const writers = [await Writer.start(home, sessionId, true), await Writer.start(home, sessionId, false)] as const;
  const victim = writers[int32(prng, 0, 1)] as Writer;
  const survivor = (victim === writers[0] ? writers[1] : writers[0]) as Writer;
  try {
    const killAt = int32(prng, 1, entries);
    const dying = victim.write("victim", entries, underWay).catch(() => undefined);
    const writing = survivor.write("survivor", entries, underWay);
    while (victim.promised.size < killAt) await pass(int32(prng, 0, 3));
    await victim.kill();
    await dying;
    await writing;
    const promised = [...victim.promised.keys(), ...survivor.promised.keys()];
    const { ids } = await survivor.report(promised.length);
    assertHolds(ids, promised, `${when}, the survivor`);
    // Somebody new can open and write at once; nothing the dead one held is in the way.
    const next = await Writer.start(home, sessionId, false);
    try {
      await next.write("next", 10, 1);
      const all = [...promised, ...next.promised.keys()];
      const reports = [await next.report(ids.length + 10), await survivor.report(ids.length + 10)];
      for (const report of reports) assertHolds(report.ids, all, `${when}, after the restart`);
      assert.deepEqual(reports[0]?.ids, reports[1]?.ids, `${when}: one log order`);
      await next.end();
    } finally {
      await next.kill();
    }
    await survivor.end();
    return victim.promised.size;
  } finally {
    for (const writer of writers) await writer.kill();
  }
}

/** Everything promised is there, and nothing twice. */
function assertHolds(ids: readonly string[], promised: Iterable<string>, when: string): void {
  const held = new Set(ids);
  assert.equal(held.size, ids.length, `${when}: an entry is there twice`);
  const lost = [...promised].filter((id) => !held.has(id));
  assert.deepEqual(lost, [], `${when}: lost`);
}

/** Entries that were there before a process opened the session are in no notice of it. */
function delaysOf(seen: HomeReport["seen"], promised: ReadonlyMap<string, number>): number[] {
  return seen.flatMap(([id, atMs]) => {
    const resolvedMs = promised.get(id);
    return resolvedMs === undefined ? [] : [atMs - resolvedMs];
  });
}

function summarize(delays: number[]): Delays {
  assert.ok(delays.length > 0, "some entries were seen");
  delays.sort((left, right) => left - right);
  const at = (part: number): number => delays[Math.min(delays.length - 1, Math.floor(part * delays.length))] as number;
  return { medianMs: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}

/** The random moments are this check's subject: nothing waits for them. */
const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
