/** How long and from which seed random tests run. */
export interface SimulationSettings {
  /** Number of runs of each property. */
  readonly numRuns: number;
  /** Absent: a new seed each time; fast-check prints it when a run fails. */
  readonly seed?: number;
}

/** Short enough for every commit; nights set SIM_RUNS. */
const DEFAULT_RUNS = 25;

/** Reads SIM_RUNS, or else takes `defaultRuns`, and SIM_SEED. Throws when one is not a whole number. */
export function readSimulationSettings(
  environment: Record<string, string | undefined> = hostEnvironment(),
  defaultRuns: number = DEFAULT_RUNS,
): SimulationSettings {
  const numRuns = readWholeNumber("SIM_RUNS", environment.SIM_RUNS) ?? defaultRuns;
  const seed = readWholeNumber("SIM_SEED", environment.SIM_SEED);
  return seed === undefined ? { numRuns } : { numRuns, seed };
}

/** How long a random test may take at most: all its runs, and as many again to shrink a failure. */
export function simulationTimeoutMs(settings: SimulationSettings, maxRunMs: number): number {
  return 2 * settings.numRuns * maxRunMs;
}

function readWholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  const number = Number(text);
  if (!Number.isInteger(number)) throw new Error(`${name} must be a whole number, not ${text}`);
  return number;
}

/** Suites also run in browsers, which have no process. */
function hostEnvironment(): Record<string, string | undefined> {
  const host = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return host.process?.env ?? {};
}
