import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionChange, SessionEntry } from "@coppice/core";
import { readIndex, readSimulationSettings, simulationTimeoutMs } from "@coppice/testkit";
import fc from "fast-check";
import { expect, it } from "vitest";
import { JsonlSessionStorage } from "../src/index.ts";
import { makeTempFolder, messageLine } from "./helpers.ts";

/** Enough that one random run rarely takes longer, with a disk sync per append. */
const MAX_RUN_MS = 5_000;

interface Step {
  readonly kind: "append" | "branch" | "repeat" | "label" | "move" | "reopen" | "foreign" | "garbage";
  /** Which of the two writers. */
  readonly at: 0 | 1;
  /** Chooses among the entries there are. */
  readonly pick: number;
}

const anyStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("append", "append", "branch", "repeat", "label", "move", "reopen", "foreign", "garbage"),
  at: fc.constantFrom(0, 1),
  pick: fc.nat(1_000),
});

/** Two storages on one file, each with the leaf that its own appends give it. */
class TwoWriters {
  readonly path: string;
  readonly storages: JsonlSessionStorage[] = [];
  readonly leafIds: (string | null)[] = [null, null];
  /** What each has been told since it was last opened. */
  readonly changes: SessionChange[][] = [[], []];
  #lastNumber = 0;

  constructor(path: string) {
    this.path = path;
  }

  async open(at: number): Promise<void> {
    const storage = await JsonlSessionStorage.open(this.path);
    this.storages[at] = storage;
    this.leafIds[at] = await storage.getLeafId();
    const changes: SessionChange[] = [];
    this.changes[at] = changes;
    storage.subscribe((change) => changes.push(change));
  }

  storage(at: number): JsonlSessionStorage {
    return this.storages[at] as JsonlSessionStorage;
  }

  async take({ kind, at, pick }: Step): Promise<void> {
    const storage = this.storage(at);
    const id = `e${this.#lastNumber++}`;
    const ids = (await storage.getEntries()).map((entry) => entry.id);
    const picked = ids[pick % Math.max(1, ids.length)] ?? null;
    const leafId = this.leafIds[at] ?? null;
    switch (kind) {
      case "append":
        return this.#append(at, messageLine(id, leafId));
      case "branch":
        return this.#append(at, messageLine(id, picked));
      case "repeat":
        return this.#append(at, messageLine(picked ?? id, leafId, `again ${pick % 2}`));
      case "label": {
        const base = { type: "label", id, parentId: leafId, timestamp: "t" };
        return this.#append(at, JSON.stringify({ ...base, targetId: picked ?? id, label: `label ${pick % 3}` }));
      }
      case "move":
        await storage.setLeafId(picked);
        this.leafIds[at] = picked;
        return;
      case "reopen":
        await storage.close();
        return this.open(at);
      case "foreign":
        // Neither of the two: a program that knows nothing of them.
        return appendFile(this.path, `${messageLine(id, picked)}\n`);
      case "garbage":
        return appendFile(this.path, pick % 2 === 0 ? "garbage\n" : "\r\n");
    }
  }

  /** Whatever the writer has seen of the file, its index is the one the file gives. */
  async expectRebuilt(at: number): Promise<void> {
    const storage = this.storage(at);
    await storage.refresh();
    const rebuilt = await JsonlSessionStorage.open(this.path);
    expect(await readIndex(storage)).toEqual(await readIndex(rebuilt));
    expect(storage.report).toEqual(rebuilt.report);
    expect(await storage.getLeafId()).toBe(this.leafIds[at]);
    await rebuilt.close();
  }

  async #append(at: number, json: string): Promise<void> {
    const entry = JSON.parse(json) as SessionEntry;
    // The text of an entry that is there already is not written again.
    const written = await this.storage(at).appendJson([json]);
    if (written.length > 0) this.leafIds[at] = entry.id;
  }
}

const settings = readSimulationSettings();

it(
  "[JL23] whatever two storages and other programs write to one file, each index is the one the file gives",
  async () => {
    let entries = 0;
    let conflicts = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 25 }), async (steps) => {
        const path = join(await makeTempFolder(), "s.jsonl");
        await (await JsonlSessionStorage.create(path, { cwd: "/" })).close();
        const writers = new TwoWriters(path);
        for (const at of [0, 1]) await writers.open(at);
        for (const step of steps) {
          await writers.take(step);
          await writers.expectRebuilt(step.at);
        }
        for (const at of [0, 1]) {
          await writers.expectRebuilt(at);
          await writers.storage(at).close();
        }
        entries += writers.storage(0).report.entries;
        conflicts += writers.changes.flat().filter((change) => change.conflicts !== undefined).length;
      }),
      settings,
    );
    expect(entries).toBeGreaterThan(0);
    expect(conflicts).toBeGreaterThan(0);
  },
  simulationTimeoutMs(settings, MAX_RUN_MS),
);
