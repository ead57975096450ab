import "./determinism.ts";
import { readSimulationSettings, simulationTimeoutMs } from "@coppice/testkit";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { createChoices, seedRandomness, time } from "./determinism.ts";
import { pastFailures } from "./past-failures.ts";
import { createCounts, SimulatedWorld, type WorldCounts } from "./simulated-world.ts";
import { createScenarios, type Scenario } from "./steps.ts";

const maxSteps = 40;
const maxRunMs = 20_000;

async function run(scenario: Scenario): Promise<SimulatedWorld> {
  seedRandomness(scenario.seed);
  time.clearTimers();
  const world = new SimulatedWorld(scenario, time, createChoices);
  try {
    await world.begin();
    for (const step of scenario.steps) await world.take(step);
    await world.heal();
    return world;
  } finally {
    time.clearTimers();
  }
}

afterAll(() => time.stop());

/** Of so many worlds each kind of event happens in some, whatever the seed. */
const minRunsThatSeeAll = 20;

describe("a simulated world", () => {
  const settings = readSimulationSettings();

  test(
    "[SM1, SM2, SM3, SM4, SM5, SM6, SM7, SM8, SM11, SM12] whatever crashes, is cut off or put back, nothing is lost and all agree",
    async () => {
      const total = createCounts();
      await fc.assert(
        fc.asyncProperty(createScenarios(maxSteps), async (scenario) => {
          const { counts } = await run(scenario);
          for (const name of Object.keys(total) as (keyof WorldCounts)[]) total[name] += counts[name];
        }),
        {
          ...settings,
          numRuns: settings.numRuns + pastFailures.length,
          examples: pastFailures.map((scenario): [Scenario] => [scenario]),
          // A planted bug only has to be noticed.
          endOnFailure: process.env.PLANTED_BUG !== undefined,
        },
      );
      // A few worlds cannot see everything.
      if (settings.numRuns < minRunsThatSeeAll) return;
      expect(Object.entries(total).filter(([, count]) => count === 0)).toEqual([]);
    },
    simulationTimeoutMs(settings, maxRunMs),
  );

  test("[SM9] a run is the same each time it is run, to the byte and the millisecond", async () => {
    for (const scenario of fc.sample(createScenarios(maxSteps), { seed: 1, numRuns: 3 })) {
      const { trace } = await run(scenario);
      expect(trace.length).toBeGreaterThan(100);
      expect((await run(scenario)).trace).toEqual(trace);
    }
  });
});
