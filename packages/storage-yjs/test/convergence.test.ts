import type { SessionEntry } from "@coppice/core";
import { readIndex, readSimulationSettings, simulationTimeoutMs } from "@coppice/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import {
  appendChain,
  createReplica,
  deliver,
  logIds,
  message,
  openReplica,
  type Replica,
  recordsOf,
  reopenReplica,
  syncAll,
} from "./replica.ts";

const deviceIds = ["device-a", "device-b", "device-c"];

/** Enough that one random run rarely takes longer. */
const MAX_RUN_MS = 5_000;

type Step = { at: number; pick: number } & (
  | { kind: "append" | "branch" | "move" | "moveToRoot" | "label" | "rename" | "restart" }
  | { kind: "import"; count: number }
  | { kind: "deliver"; to: number; update: number }
  | { kind: "sync"; to: number }
);

const at = fc.nat(2);
const pick = fc.nat();
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("append" as const), at, pick }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom(...(["branch", "move", "moveToRoot", "label", "rename", "restart"] as const)),
      at,
      pick,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("import" as const), at, pick, count: fc.integer({ min: 1, max: 5 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("deliver" as const), at, pick, to: fc.nat(2), update: fc.nat() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("sync" as const), at, pick, to: fc.nat(2) }) },
);

/** A file that any device may import, whole or the beginning of it. */
const importedLines = Array.from({ length: 5 }, (_, index) =>
  JSON.stringify(message(`file${index}`, index === 0 ? null : `file${index - 1}`)),
);

/** Three devices, and for each the leaf that its own work alone gives it. */
class Simulation {
  readonly replicas: Replica[];
  readonly leafIds: (string | null)[] = ["root", "root", "root"];
  readonly textById = new Map<string, string>();
  #lastNumber = 0;

  private constructor(replicas: Replica[]) {
    this.replicas = replicas;
  }

  static async start(): Promise<Simulation> {
    const first = await createReplica("device-a");
    await appendChain(first, "root");
    const others: Replica[] = [];
    for (const deviceId of deviceIds.slice(1)) others.push(await openReplica(deviceId, { log: [...first.log] }));
    const simulation = new Simulation([first, ...others]);
    for (const [index, { doc }] of simulation.replicas.entries()) doc.clientID = index + 1;
    simulation.textById.set("root", JSON.stringify(message("root", null)));
    return simulation;
  }

  async take(step: Step): Promise<void> {
    const replica = this.#replica(step.at);
    const { storage } = replica;
    const leafId = this.leafIds[step.at] ?? null;
    const id = `e${this.#lastNumber++}`;
    const base = { id, parentId: leafId, timestamp: "t" };
    switch (step.kind) {
      case "append":
        return this.#append(step.at, message(id, leafId));
      case "branch":
        return this.#append(step.at, message(id, await this.#pickId(replica, step.pick)));
      case "label": {
        const targetId = await this.#pickId(replica, step.pick);
        return this.#append(step.at, { ...base, type: "label", targetId, label: `label ${step.pick % 5}` });
      }
      case "rename":
        return this.#append(step.at, { ...base, type: "session_info", name: `name ${step.pick % 5}` });
      case "move":
      case "moveToRoot": {
        const target = step.kind === "move" ? await this.#pickId(replica, step.pick) : null;
        await storage.setLeafId(target);
        this.leafIds[step.at] = target;
        return this.#remember(replica);
      }
      case "import": {
        const written = await storage.appendJson(importedLines.slice(0, step.count));
        const last = written.at(-1);
        if (last !== undefined) this.leafIds[step.at] = last;
        return this.#remember(replica);
      }
      case "restart":
        this.replicas[step.at] = await reopenReplica(deviceIds[step.at] ?? "", replica);
        // Chosen by the step instead of by Yjs, so that a seed gives the same log order again.
        this.#replica(step.at).doc.clientID = (step.pick % 1_000) * 1_000 + 100 + this.#lastNumber;
        return;
      case "deliver": {
        const update = replica.log[step.update % replica.log.length];
        if (update !== undefined) Y.applyUpdate(this.#replica(step.to).doc, update, "remote");
        return;
      }
      case "sync":
        return deliver(replica, this.#replica(step.to));
    }
  }

  /** What holds at every moment, on every replica. */
  async expectSound(): Promise<void> {
    for (const [index, replica] of this.replicas.entries()) {
      expect(await replica.storage.getLeafId()).toBe(this.leafIds[index]);
      expect(replica.storage.getDeviceLeaf()).toBe(this.leafIds[index]);
      const seen = new Set<string>();
      for (const { id, parentId } of await replica.storage.getEntries()) {
        expect(parentId === null || seen.has(parentId)).toBe(true);
        seen.add(id);
        expect(await replica.storage.getEntryJson(id)).toBe(this.textById.get(id));
      }
      expect(replica.storage.getUnreadable()).toEqual({ damaged: 0, newer: 0, foreign: 0, byProblem: {} });
      expect(replica.storage.getWaiting()).toEqual([]);
    }
  }

  /** The index of a replica that took a step is the one that its document gives. */
  async expectRebuilt(step: Step): Promise<void> {
    for (const index of new Set([step.at, "to" in step ? step.to : step.at])) {
      const replica = this.#replica(index);
      const rebuilt = await openReplica("device-x", { log: [Y.encodeStateAsUpdate(replica.doc)] });
      expect(await readIndex(replica.storage)).toEqual(await readIndex(rebuilt.storage));
      expect(await replica.storage.getConflicts()).toEqual(await rebuilt.storage.getConflicts());
      await rebuilt.storage.close();
    }
  }

  /** What holds once everybody has everything. */
  async expectEqual(): Promise<void> {
    const views = await Promise.all(this.replicas.map((replica) => viewOf(replica)));
    for (const view of views) expect(view).toEqual(views[0]);
    expect(views[0]?.entries.map(({ id }) => id).sort()).toEqual([...this.textById.keys()].sort());
  }

  #replica(index: number): Replica {
    return this.replicas[index] as Replica;
  }

  async #append(index: number, entry: SessionEntry): Promise<void> {
    await this.#replica(index).storage.appendEntry(entry);
    this.leafIds[index] = entry.id;
    this.textById.set(entry.id, JSON.stringify(entry));
  }

  async #pickId(replica: Replica, pick: number): Promise<string> {
    const ids = await logIds(replica);
    return ids[pick % ids.length] ?? "root";
  }

  async #remember(replica: Replica): Promise<void> {
    for (const id of await logIds(replica)) {
      if (!this.textById.has(id)) this.textById.set(id, (await replica.storage.getEntryJson(id)) ?? "");
    }
  }
}

async function viewOf(replica: Replica) {
  const { storage } = replica;
  const entries = await storage.getEntries();
  return {
    records: recordsOf(replica),
    entries,
    labels: await Promise.all(entries.map(({ id }) => storage.getLabel(id))),
    authors: entries.map(({ id }) => storage.getAuthor(id)),
    name: await storage.getSessionName(),
    tips: (await storage.getTips()).map(({ id }) => id),
    conflicts: await storage.getConflicts(),
    isWaiting: storage.isWaiting,
  };
}

describe("convergence", () => {
  const settings = readSimulationSettings();

  test(
    "[YS26] whatever is written and delivered, replicas are sound at every step and equal in the end",
    async () => {
      const counts = { entries: 0, restarts: 0, waits: 0 };
      await fc.assert(
        fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 40 }), async (steps) => {
          const simulation = await Simulation.start();
          for (const step of steps) {
            await simulation.take(step);
            if (step.kind === "restart") counts.restarts++;
            if (simulation.replicas.some(({ storage }) => storage.isWaiting)) counts.waits++;
            await simulation.expectSound();
            await simulation.expectRebuilt(step);
          }
          syncAll(...simulation.replicas);
          await simulation.expectSound();
          await simulation.expectEqual();
          counts.entries += simulation.textById.size;
        }),
        settings,
      );
      for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0);
    },
    simulationTimeoutMs(settings, MAX_RUN_MS),
  );

  test("[YS27] 20,000 entries import, travel, branch and read back", async () => {
    const count = 20_000;
    const lines = Array.from({ length: count }, (_, index) =>
      JSON.stringify(message(`e${index}`, index === 0 ? null : `e${index - 1}`)),
    );
    const first = await createReplica("device-a", { keys: undefined });
    expect(await first.storage.appendJson(lines)).toHaveLength(count);
    const second = await openReplica("device-b", { keys: undefined, log: [Y.encodeStateAsUpdate(first.doc)] });
    expect(await second.storage.getLeafId()).toBe(`e${count - 1}`);
    [first.doc.clientID, second.doc.clientID] = [1, 2];
    for (let round = 0; round < 20; round++) {
      await appendChain(first, `a${round}`);
      await appendChain(second, `b${round}`);
      if (round % 2 === 0) syncAll(first, second);
    }
    syncAll(first, second);
    expect(await logIds(second)).toEqual(await logIds(first));
    expect(await second.storage.getPathToRoot("b19")).toHaveLength(count + 20);
    expect(await first.storage.getEntryJson("e12345")).toBe(lines[12_345]);
  });
});
