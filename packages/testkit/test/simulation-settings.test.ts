import { describe, expect, test } from "vitest";
import { readSimulationSettings, simulationTimeoutMs } from "../src/index.ts";

describe("simulation settings", () => {
  test("[ST30] runs and seed come from SIM_RUNS and SIM_SEED; without a seed every time has its own", () => {
    expect(readSimulationSettings({ SIM_RUNS: "500", SIM_SEED: "-7" })).toEqual({ numRuns: 500, seed: -7 });
    expect(readSimulationSettings({})).toEqual({ numRuns: expect.any(Number) });
    expect(readSimulationSettings({}, 7)).toEqual({ numRuns: 7 });
    expect(readSimulationSettings({ SIM_RUNS: "500" }, 7)).toEqual({ numRuns: 500 });
    expect(readSimulationSettings({ SIM_RUNS: "", SIM_SEED: "" })).not.toHaveProperty("seed");
    expect(() => readSimulationSettings({ SIM_RUNS: "many" })).toThrow("SIM_RUNS must be a whole number, not many");
    expect(simulationTimeoutMs({ numRuns: 10 }, 100)).toBe(2_000);
  });
});
