import type { Generation } from "./pi-packages.ts";
import { createOperations } from "./random-operations.ts";
import type { StepView, Subject } from "./subject.ts";

/** What a lockstep run has done, for tests that it did something at all. */
export interface LockstepCounts {
  entries: number;
  refusals: number;
  moves: number;
  contexts: number;
}

/** Where the two subjects went apart. */
export interface Difference {
  readonly seed: number;
  readonly step: number;
  readonly operation: string;
  readonly expected: StepView;
  readonly found: StepView;
}

/** Every so many operations all entries are compared; after each one, those that were added. */
const FULL_COMPARISON_STEPS = 50;

/** What a run needs besides its subjects. */
export interface LockstepOptions {
  readonly seed: number;
  readonly steps: number;
  readonly generation: Generation;
  /** Called before each operation with its number, to set the clock by. */
  readonly beforeStep?: (step: number) => void;
  /** Called after each operation with what was seen of the candidate. */
  readonly afterStep?: (view: StepView) => Promise<void>;
}

/** Applies the same random operations to both and compares all that can be seen after each. Ends at the first difference. */
export async function runLockstep(
  reference: Subject,
  candidate: Subject,
  options: LockstepOptions,
): Promise<{ counts: LockstepCounts; difference?: Difference }> {
  const { seed, steps, generation } = options;
  const counts: LockstepCounts = { entries: 0, refusals: 0, moves: 0, contexts: 0 };
  const operations = createOperations(seed, generation);
  for (let step = 1; step <= steps; step++) {
    options.beforeStep?.(step);
    const { name, run } = operations.next().value;
    const start = step % FULL_COMPARISON_STEPS === 0 || step === steps ? 0 : reference.ids.length;
    const [expected, found] = [await reference.see(run, start), await candidate.see(run, start)];
    if (!isEqual(expected, found)) {
      return { counts, difference: { seed, step, operation: name, expected, found } };
    }
    if (isRefusal(expected.outcome)) counts.refusals++;
    else if (name === "moveTo") counts.moves++;
    if (!isRefusal(expected.context)) counts.contexts++;
    counts.entries = reference.ids.length;
    await options.afterStep?.(found);
  }
  return { counts };
}

function isEqual(a: StepView, b: StepView): boolean {
  return a.outcome === b.outcome && a.entries === b.entries && a.leaf === b.leaf && a.context === b.context;
}

function isRefusal(outcome: string): boolean {
  return !outcome.startsWith('{"value"') && outcome !== "{}";
}
