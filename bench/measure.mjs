/**
 * Measuring for benchmarks that run on busy machines. Contestants take turns within each round, so that a slow moment
 * hits all of them; a comparison is the median of the rounds' own ratios. Work that only computes is measured in CPU
 * time of this process (garbage collection included), because its wall clock mostly tells what the neighbours did.
 *
 * Nothing forces garbage collection between short runs: that also throws compiled code away, which doubled the figures.
 */
/**
 * What is measured.
 * @typedef {object} Contestant
 * @property {string} name unique in its benchmark
 * @property {number} count operations in one run; figures are per operation
 * @property {() => unknown} [prepare] makes what a run starts from; not measured
 * @property {(prepared: any) => unknown} run
 * @property {Budget} [budget]
 */

/**
 * What a contestant should cost at most: so many microseconds, or so many times what another one costs.
 * @typedef {{ us: number } | { times: number, of: string }} Budget
 */

/**
 * What is reported of a contestant, in microseconds per operation.
 * @typedef {object} Row
 * @property {string} name
 * @property {number} medianUs
 * @property {number} fastestUs
 * @property {number} slowestUs
 * @property {number} rounds
 * @property {Budget} [budget]
 * @property {number} [times] median of the rounds' ratios, when the budget names another contestant
 * @property {boolean} [isWithinBudget]
 */

/** Rounds that are not counted, in which code gets compiled. */
const warmUpRounds = 2;
const clocks = { cpu: readCpuUs, wall: () => performance.now() * 1000 };

/**
 * Measures contestants and prints their rows as one JSON line, for `run.mjs`.
 * @param {{ title: string, clock: "cpu" | "wall", rounds: number, contestants: readonly Contestant[] }} benchmark
 */
export async function runBenchmark({ title, clock, rounds, contestants }) {
  const samplesByName = new Map(contestants.map(({ name }) => [name, []]));
  for (let round = -warmUpRounds; round < rounds; round++) {
    const order = round % 2 === 0 ? contestants : [...contestants].reverse();
    for (const { name, count, prepare, run } of order) {
      const prepared = await prepare?.();
      const startUs = clocks[clock]();
      await run(prepared);
      const us = (clocks[clock]() - startUs) / count;
      if (round >= 0) samplesByName.get(name).push(us);
    }
  }
  const rows = contestants.map(({ name, budget }) => toRow(name, budget, samplesByName));
  console.log(JSON.stringify({ title, clock, rows }));
}

/** @returns {Row} */
function toRow(name, budget, samplesByName) {
  const samples = samplesByName.get(name);
  const row = {
    name,
    medianUs: round(median(samples)),
    fastestUs: round(Math.min(...samples)),
    slowestUs: round(Math.max(...samples)),
    rounds: samples.length,
  };
  if (budget === undefined) return row;
  if ("us" in budget) return { ...row, budget, isWithinBudget: row.medianUs <= budget.us };
  const others = samplesByName.get(budget.of);
  const times = round(median(samples.map((us, at) => us / others[at])));
  return { ...row, budget, times, isWithinBudget: times <= budget.times };
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Four digits: more would only be noise in the baseline. */
function round(value) {
  return Number(value.toPrecision(4));
}

function readCpuUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}
