import { isNewer, type RecordProblem } from "./record-codec.ts";

/** What of the log cannot be shown. */
export interface UnreadableCounts {
  /** Records that do not open: damaged, moved or copied here, of another key. */
  readonly damaged: number;
  /** Records of a later version of Coppice; an upgrade reads them. */
  readonly newer: number;
  /** Elements of the doc that are no records, and deleted ones. */
  readonly foreign: number;
  /** The first two, by reason. */
  readonly byProblem: { readonly [problem in RecordProblem]?: number };
}

/** Whether a key that we lack would open a record. */
export function isKeyProblem(problem: RecordProblem | undefined): boolean {
  return problem === "other_key" || problem === "no_key";
}

/** Counts the records of a log that do not open, by reason. */
export class UnreadableRecords {
  readonly #countByProblem = new Map<RecordProblem, number>();

  /** Takes one more into account. */
  add(problem: RecordProblem): void {
    this.#countByProblem.set(problem, (this.#countByProblem.get(problem) ?? 0) + 1);
  }

  /** Forgets them all: the log is about to be read anew. */
  clear(): void {
    this.#countByProblem.clear();
  }

  /** Whether the log holds records that a key we lack would open. */
  get hasOtherKeys(): boolean {
    return [...this.#countByProblem.keys()].some(isKeyProblem);
  }

  /** What there is, beside so many elements of the doc that are no records. */
  count(foreign: number): UnreadableCounts {
    let [damaged, newer] = [0, 0];
    for (const [problem, count] of this.#countByProblem) {
      if (isNewer(problem)) newer += count;
      else damaged += count;
    }
    return { damaged, newer, foreign, byProblem: Object.fromEntries(this.#countByProblem) };
  }
}
