import "./determinism.ts";
import { readSimulationSettings, simulationTimeoutMs } from "@coppice/testkit";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { createChoices, seedRandomness, time } from "./determinism.ts";
import { createWorkspaceScenarios } from "./workspace-steps.ts";
import { createWorkspaceCounts, type WorkspaceCounts, WorkspaceWorld } from "./workspace-world.ts";

const maxSteps = 30;
const maxRunMs = 20_000;
/** Of so many worlds each kind of event happens in some, whatever the seed. */
const minRunsThatSeeAll = 12;

afterAll(() => time.stop());

describe("a simulated workspace", () => {
  const settings = readSimulationSettings(undefined, 12);

  test(
    "[SM34, SM35] whatever is made, forked, named, put away and deleted where, all lists are equal and nothing is lost",
    async () => {
      const total = createWorkspaceCounts();
      await fc.assert(
        fc.asyncProperty(createWorkspaceScenarios(maxSteps), async ({ seed, steps }) => {
          seedRandomness(seed);
          time.clearTimers();
          const world = new WorkspaceWorld(time, createChoices(seed));
          try {
            await world.begin();
            for (const step of steps) await world.take(step);
            await world.heal();
          } finally {
            time.clearTimers();
          }
          for (const name of Object.keys(total) as (keyof WorkspaceCounts)[]) total[name] += world.counts[name];
        }),
        { ...settings, endOnFailure: process.env.PLANTED_BUG !== undefined },
      );
      // A few worlds cannot see everything.
      if (settings.numRuns < minRunsThatSeeAll) return;
      expect(Object.entries(total).filter(([, count]) => count === 0)).toEqual([]);
    },
    simulationTimeoutMs(settings, maxRunMs),
  );
});
