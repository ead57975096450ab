import "./determinism.ts";
import { openWorkspace } from "@coppice/client";
import { readSimulationSettings, simulationTimeoutMs } from "@coppice/testkit";
import { SimulatedDisk } from "@coppice/testkit/simulation";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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

// What the first device of a process loads when it starts comes in real time, of which a world knows nothing.
beforeAll(async () => {
  const disk = new SimulatedDisk({ commitMs: () => 1, readMs: () => 0 });
  const device = { id: "00000000-0000-7000-8000-000000000000", name: "first" };
  let isOver = false;
  const opening = openWorkspace({ store: disk.open(), device, workspaceKey: new Uint8Array(32) }).finally(() => {
    isOver = true;
  });
  while (!isOver) await time.advance(10);
  await opening;
  time.clearTimers();
}, maxRunMs);

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
