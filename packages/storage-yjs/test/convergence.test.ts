import { readSimulationSettings, simulationTimeoutMs } from "@coppice/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";
import { appendChain, createReplica, logIds, message, openReplica, syncAll } from "./replica.ts";
import { createCounts, Simulation } from "./simulation/simulation.ts";
import { anyStart, anySteps } from "./simulation/steps.ts";

/** Enough that one random run rarely takes longer. */
const MAX_RUN_MS = 5_000;

/** Runs of each property in an ordinary test; nights set SIM_RUNS. */
const DEFAULT_RUNS = 100;

describe("convergence", () => {
  const settings = readSimulationSettings(undefined, DEFAULT_RUNS);

  test(
    "[YS26, YS120] whatever is written, delivered, lost and restarted, replicas are sound at every step and equal in the end",
    async () => {
      const counts = createCounts();
      await fc.assert(
        fc.asyncProperty(anyStart, anySteps, async (start, steps) => {
          const simulation = await Simulation.begin(start, counts);
          for (const step of steps) await simulation.take(step);
          await simulation.heal();
        }),
        settings,
      );
      // A walk that went nowhere would prove nothing.
      for (const [what, count] of Object.entries(counts)) expect(count, what).toBeGreaterThan(0);
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
