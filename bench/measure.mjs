/**
 * Measuring for benchmarks that run on busy machines. Contestants take turns within each round, so that a slow moment
 * hits all of them; a comparison is the median of the rounds' own ratios. Work that only computes is measured in CPU
 * time (garbage collection included), because a wall clock mostly tells what the neighbours did.
 *
 * Nothing forces garbage collection between short runs: that also throws compiled code away, which doubled the figures.
 */
/**
 * What is measured in this process.
 * @typedef {object} Contestant
 * @property {string} name unique in its benchmark
 * @property {number} count operations in one run; figures are per operation
 * @property {() => unknown} [prepare] makes what a run starts from; not measured
 * @property {(prepared: any) => unknown} run
 * @property {readonly Budget[]} [budgets]
 */

/**
 * What a contestant should cost: at most so much in the benchmark's unit, or at most so many times what another one
 * costs.
 * @typedef {{ atMost: number } | { times: number, of: string }} Budget
 */

/**
 * What is reported of a contestant, in the benchmark's unit.
 * @typedef {object} Row
 * @property {string} name
 * @property {number} median
 * @property {number} lowest
 * @property {number} highest
 * @property {number} rounds
 * @property {(Budget & { isMet: boolean, measured?: number })[]} [budgets] `measured`: the median of the rounds' ratios
 */

/** Rounds that are not counted, in which code gets compiled. */
const warmUpRounds = 2;
const clocks = { cpu: readCpuUs, wall: () => performance.now() * 1000 };

/**
 * Measures contestants in this process and reports them, in microseconds per operation.
 * @param {{ title: string, clock: "cpu" | "wall", rounds: number, contestants: readonly Contestant[] }} benchmark
 */
export async function runBenchmark({ title, clock, rounds, contestants }) {
  const measured = contestants.map(({ name, budgets }) => ({ name, budgets, samples: [] }));
  for (let round = -warmUpRounds; round < rounds; round++) {
    for (const at of orderOfRound(round, contestants.length)) {
      const { count, prepare, run } = contestants[at];
      const prepared = await prepare?.();
      const startUs = clocks[clock]();
      await run(prepared);
      const us = (clocks[clock]() - startUs) / count;
      if (round >= 0) measured[at].samples.push(us);
    }
  }
  reportBenchmark({
    title: `${title} (${clock === "cpu" ? "CPU time" : "wall clock"})`,
    unit: "us",
    contestants: measured,
  });
}

/**
 * Measures what several figures belong to, in turns: `measure(contestant)` gives one sample per figure, by its key.
 * `figures` tell, by the same keys, how each is reported.
 * @template C
 * @param {{ rounds: number, warmUpRounds?: number, contestants: readonly C[], measure: (contestant: C) => Promise<Record<string, number>>, nameOf?: (contestant: C) => string, figures: Record<string, { title: string, unit: "us" | "bytes" | "times", budgetsOf?: (contestant: C) => readonly Budget[] | undefined }> }} benchmark
 */
export async function runFigures({
  rounds,
  warmUpRounds = 0,
  contestants,
  measure,
  nameOf = ({ name }) => name,
  figures,
}) {
  const samples = contestants.map(() => []);
  for (let round = -warmUpRounds; round < rounds; round++) {
    for (const at of orderOfRound(round, contestants.length)) {
      const sample = await measure(contestants[at]);
      if (round >= 0) samples[at].push(sample);
    }
  }
  for (const [key, { title, unit, budgetsOf }] of Object.entries(figures)) {
    reportBenchmark({
      title,
      unit,
      contestants: contestants.map((contestant, at) => ({
        name: nameOf(contestant),
        budgets: budgetsOf?.(contestant),
        samples: samples[at].map((sample) => sample[key]),
      })),
    });
  }
}

/**
 * Prints the rows of a benchmark as one JSON line, for `run.mjs`.
 * @param {{ title: string, unit: "us" | "bytes" | "times", contestants: readonly { name: string, samples: readonly number[], budgets?: readonly Budget[] }[] }} benchmark
 */
function reportBenchmark({ title, unit, contestants }) {
  const samplesByName = new Map(contestants.map(({ name, samples }) => [name, samples]));
  const rows = contestants.map(({ name, budgets }) => toRow(name, budgets, samplesByName));
  console.log(JSON.stringify({ title, unit, rows }));
}

/** Prints a remark beside the tables, such as which peer is not installed. */
export function reportRemark(remark) {
  console.log(JSON.stringify({ remark }));
}

/** The middle value, or the mean of the two in the middle. */
function median(values) {
  return percentile(values, 0.5);
}

/** The value that a fraction of all values does not exceed; between two values, the one in between. */
export function percentile(values, fraction) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * fraction;
  const below = sorted[Math.floor(at)];
  return below + (sorted[Math.ceil(at)] - below) * (at - Math.floor(at));
}

/** Forth and back in turns, so that nobody always follows the same one. */
function orderOfRound(round, count) {
  const order = Array.from({ length: count }, (_, at) => at);
  return round % 2 === 0 ? order : order.reverse();
}

/** @returns {Row} */
function toRow(name, budgets, samplesByName) {
  const samples = samplesByName.get(name);
  const row = {
    name,
    median: round(median(samples)),
    lowest: round(Math.min(...samples)),
    highest: round(Math.max(...samples)),
    rounds: samples.length,
  };
  // A budget that compares with a peer says nothing where the peer is not installed.
  const judged = budgets?.filter((budget) => "atMost" in budget || samplesByName.has(budget.of));
  if (judged === undefined || judged.length === 0) return row;
  return { ...row, budgets: judged.map((budget) => judge(budget, row, samples, samplesByName)) };
}

function judge(budget, row, samples, samplesByName) {
  if ("atMost" in budget) return { ...budget, isMet: row.median <= budget.atMost };
  const others = samplesByName.get(budget.of);
  const measured = round(median(samples.map((sample, at) => sample / others[at])));
  return { ...budget, measured, isMet: measured <= budget.times };
}

/** Four digits: more would only be noise in the baseline. */
function round(value) {
  return Number(value.toPrecision(4));
}

function readCpuUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}
